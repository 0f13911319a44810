// Scripted snakes, as baselines for a learnt policy:
//   direct       moves to the food's column, then to its row, and ignores obstacles; turns right
//                instead of reversing
//   astar        takes the first step of a shortest path to the food around the body without its
//                tail (A*, Manhattan distance; ties by f, then g, then x, then y); without a path,
//                the first of straight, left, right that does not kill, else straight
//   hamiltonian  follows a cycle through all cells: row 0 from left to right, the other rows back
//                and forth over columns 1 to G - 1, up again in column 0; instead of reversing, the
//                first of straight, right, left that does not kill. Such a cycle exists only on
//                even boards, so the script is offered only there.
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <functional>

#include "envs/snake/snake.hpp"

namespace hotloop {
namespace {

constexpr std::array<std::string_view, 3> kScripts = {"direct", "astar", "hamiltonian"};
constexpr int kNone = -1;

constexpr int kStraight = 0;
constexpr int kRight = 1;  // as turns of the heading
constexpr int kLeft = 3;

int distance(Cell a, Cell b) { return std::abs(a.x - b.x) + std::abs(a.y - b.y); }

// A cell waiting to be expanded. The search expands cells in ascending order of `key`.
struct Waiting {
  std::uint32_t key;
  Waiting() = default;
  Waiting(int f, int g, Cell cell)
      : key(static_cast<std::uint32_t>(f) << 21 | static_cast<std::uint32_t>(g) << 10 |
            static_cast<std::uint32_t>(cell.x) << 5 | static_cast<std::uint32_t>(cell.y)) {}
  int g() const { return key >> 10 & 2047; }
  Cell cell() const { return {static_cast<int>(key >> 5 & 31), static_cast<int>(key & 31)}; }
  bool operator>(const Waiting& other) const { return key > other.key; }
};

}  // namespace

std::span<const std::string_view> SnakeArray::scripts() const {
  return std::span(kScripts).first(grid_.size % 2 == 0 ? 3 : 2);
}

void SnakeArray::play(int script, int begin, int end, std::uint64_t, Purpose, std::uint64_t,
                      std::span<std::int32_t> actions) const {
  assert(script >= 0 && script < static_cast<int>(scripts().size()));
  for (int row = begin; row < end; ++row) {
    const int heading = script == 0   ? direct_heading(row)
                        : script == 1 ? shortest_heading(row)
                                      : cycle_heading(row);
    actions[row] = action_for(row, heading);
  }
}

// `direction` is not the opposite of the current one.
std::int32_t SnakeArray::action_for(int row, int direction) const {
  if (rules_.absolute) return direction;
  const int turn = (direction - direction_[row]) & 3;
  assert(turn != 2);
  return turn == kLeft ? 1 : turn == kRight ? 2 : 0;
}

int SnakeArray::first_safe(int row, std::array<int, 3> turns) const {
  for (const int turn : turns) {
    const int direction = (direction_[row] + turn) & 3;
    if (!is_deadly(row, direction)) return direction;
  }
  return direction_[row];
}

int SnakeArray::direct_heading(int row) const {
  const unsigned where = bearing(row, food_[row]);
  for (const int direction : {1, 3, 0, 2}) {
    if ((where >> direction & 1) == 0) continue;
    return direction == (direction_[row] ^ 2) ? (direction_[row] + kRight) & 3 : direction;
  }
  return direction_[row];
}

int SnakeArray::shortest_heading(int row) const {
  constexpr int kCells = kMaxSnakeGrid * (kMaxSnakeGrid + 1);
  std::array<Waiting, 4 * kCells> heap;      // each neighbour pushes a cell at most once
  std::array<std::int16_t, kCells> best;     // length of the shortest known path, or kNone
  std::array<std::uint8_t, kCells> first{};  // heading of the first step of that path
  best.fill(kNone);
  const int head = head_[row];
  const int goal = food_[row];
  const Cell food = cell_at(goal);
  auto* end = heap.data();
  *end++ = Waiting(distance(cell_at(head), food), 0, cell_at(head));
  best[head] = 0;
  while (end != heap.data()) {
    std::pop_heap(heap.data(), end--, std::greater<>());
    const Waiting here = *end;
    const int cell = grid_.cell(here.cell().x, here.cell().y);
    if (cell == goal) break;
    if (here.g() != best[cell]) continue;
    for (int direction = 0; direction < 4; ++direction) {
      const int next = grid_.clamp(cell + delta_[direction]);
      if (!free_bit(row, next) && next != tail_[row]) continue;
      const int g = here.g() + 1;
      if (best[next] != kNone && best[next] <= g) continue;
      best[next] = static_cast<std::int16_t>(g);
      first[next] = cell == head ? static_cast<std::uint8_t>(direction) : first[cell];
      *end++ = Waiting(g + distance(cell_at(next), food), g, cell_at(next));
      std::push_heap(heap.data(), end, std::greater<>());
    }
  }
  const bool found = goal != head && best[goal] != kNone && first[goal] != (direction_[row] ^ 2);
  return found ? first[goal] : first_safe(row, {kStraight, kLeft, kRight});
}

int SnakeArray::cycle_heading(int row) const {
  const auto [x, y] = cell_at(head_[row]);
  const int last = grid_.size - 1;
  int direction;
  if (y == 0) {
    direction = x < last ? 1 : 2;
  } else if (x == 0) {
    direction = 0;
  } else if (y % 2 == 1) {  // left, and from the last row into column 0
    direction = x > 1 || y == last ? 3 : 2;
  } else {
    direction = x < last ? 1 : 2;
  }
  if (direction != (direction_[row] ^ 2)) return direction;
  return first_safe(row, {kStraight, kRight, kLeft});
}

}  // namespace hotloop
