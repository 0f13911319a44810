// Observations of Snake, row by row or four boards side by side.
//
// `danger` marks cells that would kill, so a tail that moves away is no danger. All features about
// space (flood, escape, reachability of the tail) treat the whole current body as an obstacle.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "envs/snake/queue.hpp"
#include "envs/snake/snake.hpp"

namespace hotloop {
namespace {

using Lanes = std::int32_t __attribute__((vector_size(32)));

// Bits i to i + 7 as eight floats, 0 or 1.
inline void write_eight(unsigned bits, int i, float* to) {
  const Lanes masks = Lanes{1, 2, 4, 8, 16, 32, 64, 128} << i;
  const Lanes one = std::bit_cast<std::int32_t>(1.0f) + Lanes{};
  const Lanes values = (((static_cast<std::int32_t>(bits) & masks) != 0) & one);
  std::memcpy(to + i, &values, sizeof(values));
}

// The lowest ten bits. The two registers overlap.
inline void write_flags(unsigned bits, float* to) {
  write_eight(bits, 0, to);
  write_eight(bits, 2, to);
}

}  // namespace

// The first ten values of every feature vector, as bits.
inline unsigned SnakeArray::flags(int row) const {
  const int direction = direction_[row];
  const int tail = leaving(row);
  const auto deadly_to = [&](int turn) -> unsigned {
    const int cell = ahead(row, (direction + turn) & 3);
    return !(free_bit(row, cell) | (cell == tail));
  };
  const unsigned danger = deadly_to(0) | deadly_to(3) << 1 | deadly_to(1) << 2;
  const unsigned heading = 1u << direction & 7;
  return danger | bearing(row, food_[row]) << 3 | heading << 7;
}

void SnakeArray::observe(int begin, int end, std::span<float> obs) const {
  if (rules_.obs == SnakeObs::lookahead) {
    with_words(grid_.words, [&]<int W>() { observe_lookahead<W>(begin, end, obs); });
  } else if (rules_.needs_flood()) {
    with_words(grid_.words, [&]<int W>() { observe_flood<W>(begin, end, obs); });
  } else if (rules_.is_grid()) {
    observe_grid(begin, end, obs);
  } else {
    observe_basic(begin, end, obs);
  }
}

void SnakeArray::observe_basic(int begin, int end, std::span<float> obs) const {
  for (int row = begin; row < end; ++row) {
    write_flags(flags(row), &obs[static_cast<std::size_t>(row) * 10]);
  }
}

void SnakeArray::observe_grid(int begin, int end, std::span<float> obs) const {
  const auto width = static_cast<std::size_t>(spec_.obs);
  for (int row = begin; row < end; ++row) {
    float* cells = &obs[row * width];
    std::fill_n(cells, width, 0.0f);
    const auto channels = [&](Cell cell) { return cells + (cell.y * grid_.size + cell.x) * 3; };
    for (int i = 0; i < length_[row]; ++i) channels(segment(row, i))[i == 0 ? 0 : 1] = 1;
    channels(food(row))[2] = 1;
  }
}

// The rows [begin, end) of one register. The other lanes stay empty: they may belong to another
// thread.
template <int W>
inline QuadBoards<W> SnakeArray::load_boards(int begin, int end) const {
  QuadBoards<W> boards{};
  const int first = begin % kSnakeLanes;
  const std::uint64_t* from = board(begin - first);
  if (end - begin == kSnakeLanes) {
    for (int w = 0; w < W; ++w) {
      boards.word[w] = reinterpret_cast<const Quad*>(from)[w];
    }
    return boards;
  }
  for (int lane = first; lane < first + end - begin; ++lane) {
    for (int w = 0; w < W; ++w) boards.at(w, lane) = from[w * kSnakeLanes + lane];
  }
  return boards;
}

template <int W>
inline QuadFlood<W> SnakeArray::flood_rows(int begin, int end,
                                           const std::uint8_t* directions) const {
  Quad heads{};
  std::array<std::array<int, kSnakeLanes>, 3> looked_at{};
  for (int row = begin; row < end; ++row) {
    const int lane = row % kSnakeLanes;
    const int direction = directions[row - begin];
    heads[lane] = head_[row];
    looked_at[0][lane] = ahead(row, direction);
    looked_at[1][lane] = ahead(row, (direction + 1) & 3);
    looked_at[2][lane] = ahead(row, (direction + 3) & 3);
  }
  const QuadBoards<W> free = load_boards<W>(begin, end);
  return rules_.queue_fill ? queue_flood<W>(free, heads, looked_at, rules_.has_tail(), grid_)
                           : flood<W>(free, single_cells<W>(heads), looked_at, grid_.stride);
}

inline float SnakeArray::flood_ratio(int row, int count) const {
  const int free = grid_.size * grid_.size - length_[row];
  return static_cast<float>(count) / static_cast<float>(std::max(free, 1));
}

inline bool SnakeArray::is_entrapped(int row, std::array<int, 3> counts) const {
  const int best = std::max({counts[0], counts[1], counts[2]});
  return flood_ratio(row, best) < static_cast<float>(rules_.soft_threshold);
}

// At the current positions, but with the headings after the turn.
void SnakeArray::find_entrapped(int begin, int end, std::span<const std::int32_t> actions) {
  with_words(grid_.words, [&]<int W>() {
    for (int row = begin, next; row < end; row = next) {
      next = std::min(end, row / kSnakeLanes * kSnakeLanes + kSnakeLanes);
      std::array<std::uint8_t, kSnakeLanes> directions{};
      for (int i = row; i < next; ++i) {
        directions[i - row] = turned_[actions[i] * 4 + direction_[i]];
      }
      const QuadFlood<W> seen = flood_rows<W>(row, next, directions.data());
      for (int i = row; i < next; ++i) {
        const int lane = i % kSnakeLanes;
        entrapped_[i] =
            is_entrapped(i, {seen.count[0][lane], seen.count[1][lane], seen.count[2][lane]});
      }
    }
  });
}

// For the cells straight, right and left: the share of their four neighbours that is free.
inline float* SnakeArray::write_escape(int row, float* to) const {
  const int direction = direction_[row];
  for (const int turn : {0, 1, 3}) {
    const int cell = ahead(row, (direction + turn) & 3);
    int open = 0;
    for (const int delta : delta_) open += free_bit(row, grid_.clamp(cell + delta));
    *to++ = static_cast<float>(free_bit(row, cell) ? open : 0) / 4;
  }
  return to;
}

template <int W>
void SnakeArray::observe_flood(int begin, int end, std::span<float> obs) const {
  const int width = spec_.obs;
  const bool has_flood = rules_.obs != SnakeObs::basic;
  const bool has_tail = rules_.has_tail();
  const bool enhanced = rules_.obs == SnakeObs::enhanced;
  const float area = static_cast<float>(grid_.size * grid_.size);
  const float diameter = static_cast<float>(2 * (grid_.size - 1));

  for (int first = begin, next; first < end; first = next) {
    next = std::min(end, first / kSnakeLanes * kSnakeLanes + kSnakeLanes);
    const QuadFlood<W> seen = flood_rows<W>(first, next, &direction_[first]);

    Quad touched{};  // nonzero if a path leads from the head to the tail
    if (has_tail) {
      Quad heads{}, tails{};
      for (int row = first; row < next; ++row) {
        heads[row % kSnakeLanes] = head_[row];
        tails[row % kSnakeLanes] = tail_[row];
      }
      const QuadBoards<W> head = single_cells<W>(heads);
      const QuadBoards<W> tail = single_cells<W>(tails);
      const QuadBoards<W> next_to_tail = neighbours(tail, grid_.stride);
      for (int w = 0; w < W; ++w) {
        touched |= (next_to_tail.word[w] | tail.word[w]) & (seen.reached.word[w] | head.word[w]);
      }
    }

    for (int row = first; row < next; ++row) {
      const int lane = row % kSnakeLanes;
      const std::array<int, 3> counts = {seen.count[0][lane], seen.count[1][lane],
                                         seen.count[2][lane]};
      float* to = &obs[static_cast<std::size_t>(row) * width];
      write_flags(flags(row), to);
      to += 10;
      if (has_flood) {
        for (const int count : counts) {
          *to++ = flood_ratio(row, rules_.zero_flood ? 0 : count);
        }
      }
      if (enhanced) to = write_escape(row, to);
      if (has_tail) {
        const unsigned where = bearing(row, tail_[row]);
        for (int i = 0; i < 4; ++i) *to++ = static_cast<float>(static_cast<int>(where >> i & 1));
        *to++ = touched[lane] != 0 ? 1.0f : 0.0f;
      }
      if (enhanced) {
        const Cell head = cell_at(head_[row]);
        const Cell tail = cell_at(tail_[row]);
        *to++ =
            static_cast<float>(std::abs(head.x - tail.x) + std::abs(head.y - tail.y)) / diameter;
        *to++ = static_cast<float>(length_[row]) / area;
      }
      if (rules_.entrapped_flag) *to++ = is_entrapped(row, counts) ? 1.0f : 0.0f;
    }
  }
}

// The state after a move straight, right or left, with the body after that move:
//   room        share of the free cells that the new head can reach, its own cell included
//   tail_after  whether it can reach the tail: a snake that follows its tail survives
//   food_after  whether it can reach the food, or has eaten it
// All are 0 for a deadly move.
template <int W>
void SnakeArray::observe_lookahead(int begin, int end, std::span<float> obs) const {
  const auto width = static_cast<std::size_t>(spec_.obs);
  const float area = static_cast<float>(grid_.size * grid_.size);
  for (int first = begin, next; first < end; first = next) {
    next = std::min(end, first / kSnakeLanes * kSnakeLanes + kSnakeLanes);
    const QuadBoards<W> free = load_boards<W>(first, next);
    for (int k = 0; k < 3; ++k) {
      constexpr std::array<int, 3> kTurns = {0, 1, 3};
      Quad heads{}, vacated{}, tails{};  // cells
      Quad lives{}, moves{};             // all bits set; 0 if the snake dies, or grows
      for (int row = first; row < next; ++row) {
        const int lane = row % kSnakeLanes;
        const int cell = ahead(row, (direction_[row] + kTurns[k]) & 3);
        const bool grows = cell == food_[row];
        heads[lane] = cell;
        vacated[lane] = tail_[row];
        tails[lane] = grows ? tail_[row] : segment_cell(row, length_[row] - 2);
        lives[lane] = deadly(row, cell) ? 0 : ~std::uint64_t{0};
        moves[lane] = grows ? 0 : ~std::uint64_t{0};
      }
      QuadBoards<W> room = single_cells<W>(vacated);
      QuadBoards<W> region = single_cells<W>(heads);
      for (int w = 0; w < W; ++w) {
        room.word[w] = ((room.word[w] & moves) | free.word[w]) & lives;
        region.word[w] &= lives;
      }
      if (rules_.queue_fill) {
        region = queue_regions(room, heads, grid_);
      } else {
        fill(region, room, grid_.stride);
      }

      const QuadBoards<W> near = neighbours(region, grid_.stride);
      for (int row = first; row < next; ++row) {
        const int lane = row % kSnakeLanes;
        float* to = &obs[row * width];
        to[10 + k] = std::min(1.0f, flood_ratio(row, region.count(lane)));
        to[13 + k] = near.bit(static_cast<int>(tails[lane]), lane) ? 1.0f : 0.0f;
        to[16 + k] = region.bit(food_[row], lane) ? 1.0f : 0.0f;
      }
    }
    for (int row = first; row < next; ++row) {
      write_flags(flags(row), &obs[row * width]);
      obs[row * width + 19] = static_cast<float>(length_[row]) / area;
    }
  }
}

}  // namespace hotloop
