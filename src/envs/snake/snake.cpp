#include "envs/snake/snake.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace hotloop {
namespace {

constexpr int kFoodTries = 100;  // in the original's rejection sampling

std::unique_ptr<WorldArray> make_snakes(int count, std::span<const double> values) {
  return std::make_unique<SnakeArray>(count, snake_rules(values));
}

const EnvSpec kInitialSpec = snake_spec(snake_rules({}));

// There is only one implementation. Its slow twin is in reference/.
[[maybe_unused]] const bool kRegistered =
    register_env({&kInitialSpec, &make_snakes, &make_snakes, snake_options()});

std::array<std::uint8_t, 16> turn_table(bool absolute) {
  constexpr std::array<int, 3> kTurn = {0, 3, 1};  // straight, left, right
  std::array<std::uint8_t, 16> table{};
  for (int action = 0; action < (absolute ? 4 : 3); ++action) {
    for (int heading = 0; heading < 4; ++heading) {
      const bool reverse = action == (heading ^ 2);
      const int turned = absolute ? (reverse ? heading : action) : (heading + kTurn[action]) & 3;
      table[action * 4 + heading] = static_cast<std::uint8_t>(turned);
    }
  }
  return table;
}

}  // namespace

SnakeArray::SnakeArray(int count, const SnakeRules& rules)
    : rules_(rules),
      spec_(snake_spec(rules)),
      grid_(rules.grid),
      count_(count),
      ring_size_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(rules.grid * rules.grid)))),
      ring_mask_(ring_size_ - 1),
      delta_{-grid_.stride, 1, grid_.stride, -1},
      turned_(turn_table(rules.absolute)) {
  for (const bool soft : {false, true}) {
    food_rewards_[soft] = static_cast<float>(soft ? rules.soft_food_reward : rules.food_reward);
    for (const int closer : {0, 1}) {
      // A move changes the distance by exactly one.
      const double base = soft ? rules.soft_step_reward : rules.step_reward;
      move_rewards_[soft][closer] =
          static_cast<float>(base + rules.shaping * (closer ? 1 : -1) / rules.grid);
    }
  }
  for (int cell = 0; cell < grid_.last; ++cell) {
    empty_[cell / 64] |= std::uint64_t{!grid_.is_guard(cell)} << (cell % 64);
  }
  const auto n = static_cast<std::size_t>(count);
  free_ =
      arena_.take<std::uint64_t>((n + kSnakeLanes - 1) / kSnakeLanes * kSnakeLanes * grid_.words);
  ring_ = arena_.take<std::uint16_t>(n * ring_size_);
  for (auto* cells : {&head_, &tail_, &food_, &head_at_, &length_, &score_}) {
    *cells = arena_.take<std::uint16_t>(n);
  }
  steps_ = arena_.take<std::int32_t>(n);
  direction_ = arena_.take<std::uint8_t>(n);
  entrapped_ = arena_.take<std::uint8_t>(n);
  end_ = arena_.take<SnakeEnd>(n);
  SnakeArray::clear();
}

void SnakeArray::set_body(int row, std::span<const std::uint16_t> cells) {
  std::uint64_t* words = board(row);
  for (int w = 0; w < grid_.words; ++w) words[w * kSnakeLanes] = empty_[w];
  const auto length = static_cast<int>(cells.size());
  std::uint16_t* ring = &ring_[static_cast<std::size_t>(row) * ring_size_];
  for (int i = 0; i < length; ++i) {
    assert(free_bit(row, cells[i]));
    ring[length - 1 - i] = cells[i];
    flip_bit(row, cells[i]);
  }
  head_at_[row] = static_cast<std::uint16_t>(length - 1);
  length_[row] = static_cast<std::uint16_t>(length);
  head_[row] = cells.front();
  tail_[row] = cells.back();
}

void SnakeArray::start(int row) {
  const int middle = grid_.size / 2;
  const auto head = static_cast<std::uint16_t>(grid_.cell(middle, middle));
  set_body(row, std::array<std::uint16_t, 3>{head, static_cast<std::uint16_t>(head - 1),
                                             static_cast<std::uint16_t>(head - 2)});
  direction_[row] = 1;
  food_[row] = 0;
  score_[row] = 0;
  steps_[row] = 0;
  end_[row] = SnakeEnd::none;
}

void SnakeArray::clear() {
  for (int row = 0; row < count_; ++row) start(row);
}

void SnakeArray::reset(int row, Rng& rng) {
  start(row);
  food_[row] = static_cast<std::uint16_t>(draw_food(row, rng));
}

void SnakeArray::place(int row, std::span<const Cell> body, int direction, Cell food) {
  std::array<std::uint16_t, kMaxSnakeGrid * kMaxSnakeGrid> cells;
  for (std::size_t i = 0; i < body.size(); ++i) {
    cells[i] = static_cast<std::uint16_t>(grid_.cell(body[i].x, body[i].y));
  }
  start(row);
  set_body(row, std::span(cells).first(body.size()));
  direction_[row] = static_cast<std::uint8_t>(direction);
  food_[row] = static_cast<std::uint16_t>(grid_.cell(food.x, food.y));
}

int SnakeArray::draw_food(int row, Rng& rng) const {
  const auto side = static_cast<std::uint32_t>(grid_.size);
  if (rules_.food_under_head) {
    for (int i = 0; i < kFoodTries; ++i) {
      const auto x = static_cast<int>(rng.below(side));
      const auto y = static_cast<int>(rng.below(side));
      if (free_bit(row, grid_.cell(x, y))) return grid_.cell(x, y);
    }
    return grid_.cell(grid_.size / 2 + 1, grid_.size / 2 + 1);
  }
  auto left = static_cast<int>(rng.below(side * side - length_[row]));
  const std::uint64_t* words = board(row);
  for (int w = 0;; ++w) {
    const std::uint64_t word = words[w * kSnakeLanes];
    const int here = std::popcount(word);
    if (left < here) return w * 64 + select_bit(word, left);
    left -= here;
  }
}

bool SnakeArray::trapped(int row, int direction) const {
  return is_deadly(row, direction) && is_deadly(row, (direction + 3) & 3) &&
         is_deadly(row, (direction + 1) & 3);
}

float SnakeArray::die(int row, int direction, int cell) {
  if (trapped(row, rules_.post_turn_trap ? direction : direction_[row])) {
    end_[row] = SnakeEnd::entrapment;
  } else {
    end_[row] = grid_.is_guard(cell) ? SnakeEnd::wall : SnakeEnd::self;
  }
  return static_cast<float>(rules_.death_reward);
}

inline void SnakeArray::push_head(int row, int cell) {
  const int at = (head_at_[row] + 1) & ring_mask_;
  ring_[static_cast<std::size_t>(row) * ring_size_ + at] = static_cast<std::uint16_t>(cell);
  head_at_[row] = static_cast<std::uint16_t>(at);
  head_[row] = static_cast<std::uint16_t>(cell);
  flip_bit(row, cell);
}

float SnakeArray::eat(int row, int cell, Rng rng) {
  int food = cell;
  if (rules_.food_under_head) food = draw_food(row, rng);  // the new head is not on the board yet
  push_head(row, cell);
  ++length_[row];
  ++score_[row];
  if (!rules_.food_under_head) {
    if (length_[row] == grid_.size * grid_.size) {
      end_[row] = SnakeEnd::won;
    } else {
      food = draw_food(row, rng);
    }
  }
  food_[row] = static_cast<std::uint16_t>(food);
  return food_rewards_[entrapped_[row]];
}

inline float SnakeArray::move(int row, int direction, int cell) {
  const bool closer = bearing(row, food_[row]) >> direction & 1;
  flip_bit(row, tail_[row]);  // if the head enters this cell, push_head flips the bit back
  push_head(row, cell);
  tail_[row] = static_cast<std::uint16_t>(segment_cell(row, length_[row] - 1));
  return move_rewards_[entrapped_[row]][closer];
}

void SnakeArray::step(int begin, int end, const ActionRows& rows, std::uint64_t seed,
                      Purpose purpose, std::uint64_t step, std::span<float> rewards,
                      std::span<std::uint8_t> terminated) {
  const std::span<const std::int32_t> actions = rows.discrete;
  if (rules_.soft_entrapment) find_entrapped(begin, end, actions);
  for (int row = begin; row < end; ++row) {
    const int direction = turned_[actions[row] * 4 + direction_[row]];
    const int cell = ahead(row, direction);
    float reward;
    if (deadly(row, cell)) [[unlikely]] {
      reward = die(row, direction, cell);
    } else if (cell == food_[row]) [[unlikely]] {
      reward = eat(row, cell, Rng(seed, purpose, static_cast<std::uint32_t>(row), step));
    } else {
      reward = move(row, direction, cell);
    }
    direction_[row] = static_cast<std::uint8_t>(direction);
    bool ended = end_[row] != SnakeEnd::none;
    if (++steps_[row] == rules_.max_steps) [[unlikely]] {
      reward += static_cast<float>(rules_.timeout_reward);
      if (!ended) end_[row] = SnakeEnd::timeout;
      ended |= rules_.timeout_ends;
    }
    rewards[row] = reward;
    terminated[row] = ended;
  }
}

void SnakeArray::measure(int row, std::span<float> values) const {
  std::fill_n(values.begin(), spec_.measure_count(), 0.0f);
  values[0] = score_[row];
  if (end_[row] != SnakeEnd::none) values[static_cast<std::size_t>(end_[row])] = 1;
}

// A cell is two by two pixels with a gap around it. The body fills the gap between its cells.
Picture SnakeArray::picture(int row) const {
  constexpr int kCell = 3;
  const int side = grid_.size * kCell + 1;
  Picture picture{side, side, std::vector<std::uint8_t>(static_cast<std::size_t>(side) * side * 3)};
  using Colour = std::array<int, 3>;
  const auto paint = [&](int left, int top, int width, int height, Colour colour) {
    for (int y = top; y < top + height; ++y) {
      for (int x = left; x < left + width; ++x) {
        std::copy_n(colour.begin(), 3, picture.rgb.begin() + (y * side + x) * 3);
      }
    }
  };
  const auto paint_cell = [&](Cell cell, Colour colour) {
    paint(cell.x * kCell + 1, cell.y * kCell + 1, 2, 2, colour);
  };
  paint(0, 0, side, side, {24, 26, 30});
  paint_cell(food(row), {230, 50, 50});
  const int length = length_[row];
  for (int i = length - 1; i > 0; --i) {
    const int faded = 110 * i / length;  // darker towards the tail
    const Colour colour = {40, 190 - faded, 80 - faded / 3};
    const Cell here = segment(row, i);
    const Cell ahead = segment(row, i - 1);
    paint_cell(here, colour);
    const int left = std::max(here.x, ahead.x) * kCell;  // the gap between the two
    const int top = std::max(here.y, ahead.y) * kCell;
    here.x == ahead.x ? paint(left + 1, top, 2, 1, colour) : paint(left, top + 1, 1, 2, colour);
  }
  paint_cell(segment(row, 0), {200, 255, 120});
  return picture;
}

// The start of a saved row. G * G cells follow: the body, head first, then zeros.
struct SnakeArray::Saved {
  std::int32_t steps;
  std::uint16_t length;
  std::uint16_t score;
  std::uint16_t food;
  std::uint8_t direction;
  SnakeEnd end;
};

std::size_t SnakeArray::row_bytes() const {
  static_assert(std::has_unique_object_representations_v<Saved>);
  return sizeof(Saved) + sizeof(std::uint16_t) * grid_.size * grid_.size;
}

void SnakeArray::save_row(int row, std::byte* to) const {
  const Saved saved{steps_[row], length_[row], score_[row], food_[row], direction_[row], end_[row]};
  std::array<std::uint16_t, kMaxSnakeGrid * kMaxSnakeGrid> cells{};
  for (int i = 0; i < length_[row]; ++i)
    cells[i] = static_cast<std::uint16_t>(segment_cell(row, i));
  std::memcpy(to, &saved, sizeof(saved));
  std::memcpy(to + sizeof(saved), cells.data(), row_bytes() - sizeof(saved));
}

// Whether each cell is on the board, next to the previous one, and there only once.
bool SnakeArray::is_body(std::span<const std::uint16_t> cells) const {
  std::array<bool, kMaxSnakeGrid*(kMaxSnakeGrid + 1)> taken{};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] >= grid_.last || grid_.is_guard(cells[i]) || taken[cells[i]]) return false;
    taken[cells[i]] = true;
    const auto is_step = [&](int delta) { return cells[i] + delta == cells[i - 1]; };
    if (i > 0 && std::none_of(delta_.begin(), delta_.end(), is_step)) return false;
  }
  return !cells.empty();
}

bool SnakeArray::restore_row(int row, const std::byte* from) {
  struct {
    std::int32_t steps;
    std::uint16_t length, score, food;
    std::uint8_t direction, end;  // no SnakeEnd before it is known to be one
  } saved;
  static_assert(sizeof(saved) == sizeof(Saved));
  std::array<std::uint16_t, kMaxSnakeGrid * kMaxSnakeGrid> cells{};
  std::memcpy(&saved, from, sizeof(saved));
  std::memcpy(cells.data(), from + sizeof(saved), row_bytes() - sizeof(saved));
  if (saved.length > grid_.size * grid_.size || saved.direction > 3 || saved.steps < 0 ||
      saved.steps > rules_.max_steps || saved.end > static_cast<int>(SnakeEnd::won) ||
      saved.food >= grid_.last || grid_.is_guard(saved.food) ||
      !is_body(std::span(cells).first(saved.length))) {
    return false;
  }
  set_body(row, std::span(cells).first(saved.length));
  steps_[row] = saved.steps;
  score_[row] = saved.score;
  food_[row] = saved.food;
  direction_[row] = saved.direction;
  end_[row] = static_cast<SnakeEnd>(saved.end);
  return true;
}

}  // namespace hotloop
