// What the snakes see, row by row or four boards side by side.
//
// `danger` says what would kill, so a tail that moves away is no danger. Everything about space
// (flood, escape, reachability of the tail) takes the whole body as it lies for an obstacle.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "envs/snake.hpp"

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

// The lowest ten bits; the two registers overlap.
inline void write_flags(unsigned bits, float* to) {
  write_eight(bits, 0, to);
  write_eight(bits, 2, to);
}

}  // namespace

// The ten values that every vector of features begins with, as bits.
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
  if (rules_.needs_flood()) {
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

// The rows [begin, end), all of one register; the lanes of others stay empty, as they may be another
// thread's.
template <int W>
inline QuadBoards<W> SnakeArray::load_boards(int begin, int end) const {
  QuadBoards<W> boards{};
  const int first = begin % kSnakeSide;
  const std::uint64_t* from = board(begin - first);
  if (end - begin == kSnakeSide) {
    for (int w = 0; w < W; ++w) {
      boards.word[w] = reinterpret_cast<const Quad*>(from)[w];
    }
    return boards;
  }
  for (int lane = first; lane < first + end - begin; ++lane) {
    for (int w = 0; w < W; ++w) boards.at(w, lane) = from[w * kSnakeSide + lane];
  }
  return boards;
}

template <int W>
inline QuadFlood<W> SnakeArray::flood_rows(int begin, int end,
                                           const std::uint8_t* directions) const {
  Quad heads{};
  std::array<std::array<int, kSnakeSide>, 3> looked_at{};
  for (int row = begin; row < end; ++row) {
    const int lane = row % kSnakeSide;
    const int direction = directions[row - begin];
    heads[lane] = head_[row];
    looked_at[0][lane] = ahead(row, direction);
    looked_at[1][lane] = ahead(row, (direction + 1) & 3);
    looked_at[2][lane] = ahead(row, (direction + 3) & 3);
  }
  return flood<W>(load_boards<W>(begin, end), single_cells<W>(heads), looked_at, grid_.stride);
}

inline float SnakeArray::flood_ratio(int row, int count) const {
  const int free = grid_.size * grid_.size - length_[row];
  return static_cast<float>(count) / static_cast<float>(std::max(free, 1));
}

inline bool SnakeArray::is_entrapped(int row, std::array<int, 3> counts) const {
  const int most = std::max({counts[0], counts[1], counts[2]});
  return flood_ratio(row, most) < static_cast<float>(rules_.soft_threshold);
}

// From where the snakes are, but already turned.
void SnakeArray::find_entrapped(int begin, int end, std::span<const std::int32_t> actions) {
  with_words(grid_.words, [&]<int W>() {
    for (int row = begin, next; row < end; row = next) {
      next = std::min(end, row / kSnakeSide * kSnakeSide + kSnakeSide);
      std::array<std::uint8_t, kSnakeSide> directions{};
      for (int i = row; i < next; ++i) {
        directions[i - row] = turned_[actions[i] * 4 + direction_[i]];
      }
      const QuadFlood<W> seen = flood_rows<W>(row, next, directions.data());
      for (int i = row; i < next; ++i) {
        const int lane = i % kSnakeSide;
        entrapped_[i] =
            is_entrapped(i, {seen.count[0][lane], seen.count[1][lane], seen.count[2][lane]});
      }
    }
  });
}

// For the cells straight, right and left: how many of their four neighbours are free, in quarters.
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
  const bool has_tail = rules_.obs == SnakeObs::selective || rules_.obs == SnakeObs::enhanced;
  const bool enhanced = rules_.obs == SnakeObs::enhanced;
  const float area = static_cast<float>(grid_.size * grid_.size);
  const float diameter = static_cast<float>(2 * (grid_.size - 1));

  for (int first = begin, next; first < end; first = next) {
    next = std::min(end, first / kSnakeSide * kSnakeSide + kSnakeSide);
    const QuadFlood<W> seen = flood_rows<W>(first, next, &direction_[first]);

    Quad touched{};  // whether a way from the head leads to the tail
    if (has_tail) {
      Quad heads{}, tails{};
      for (int row = first; row < next; ++row) {
        heads[row % kSnakeSide] = head_[row];
        tails[row % kSnakeSide] = tail_[row];
      }
      const QuadBoards<W> head = single_cells<W>(heads);
      const QuadBoards<W> tail = single_cells<W>(tails);
      const QuadBoards<W> beside_tail = neighbours(tail, grid_.stride);
      for (int w = 0; w < W; ++w) {
        touched |= (beside_tail.word[w] | tail.word[w]) & (seen.reached.word[w] | head.word[w]);
      }
    }

    for (int row = first; row < next; ++row) {
      const int lane = row % kSnakeSide;
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

}  // namespace hotloop
