// Snake boards as bits, four side by side in vector registers, and flood fill without a queue.
//
// Cell (x, y) of a G x G board is bit y (G + 1) + x. Column G, one guard bit per row, is never
// free: a shift by one cannot wrap into the next row, and a step off any edge (clamped to the last
// bit) lands on a guard. A board has W words of 64 bits. Word w of four neighbouring rows of a
// batch is one register.
//
// A region f grows within the free cells m by
//   f <- f | ((f << 1 | f >> 1) & m),   f <- f | ((f << S | f >> S) & m),   S = G + 1
// until it stops changing. The number of rounds is at most the number of turns and steps of the
// longest path, and about G on an open board.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <cstdint>

namespace hotloop {

inline constexpr int kMaxSnakeGrid = 32;
inline constexpr int kSnakeLanes = 4;  // boards side by side

struct SnakeGrid {
  int size = 0;                                                          // G
  int stride = 0;                                                        // S
  int last = 0;                                                          // the last bit, a guard
  int words = 0;                                                         // W
  std::array<std::uint8_t, kMaxSnakeGrid*(kMaxSnakeGrid + 1)> x{}, y{};  // by cell

  explicit SnakeGrid(int grid) : size(grid), stride(grid + 1), last(grid * (grid + 1) - 1) {
    const int needed = last / 64 + 1;
    words = needed <= 2 ? needed : needed <= 4 ? 4 : needed <= 8 ? 8 : 17;
    for (int i = 0; i <= last; ++i) {
      x[i] = static_cast<std::uint8_t>(i % stride);
      y[i] = static_cast<std::uint8_t>(i / stride);
    }
  }

  int cell(int cell_x, int cell_y) const { return cell_y * stride + cell_x; }
  bool is_guard(int at) const { return x[at] == size; }
  // Maps everything beyond either end to `last`, which is a guard.
  int clamp(int at) const {
    const auto place = static_cast<std::uint32_t>(at);
    return static_cast<int>(place < static_cast<std::uint32_t>(last) ? place : last);
  }
};

// Calls body.template operator()<W>() with W = words.
template <class Body>
void with_words(int words, Body&& body) {
  switch (words) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 4:
      return body.template operator()<4>();
    case 8:
      return body.template operator()<8>();
    default:
      return body.template operator()<17>();
  }
}

// The index of the k-th set bit, counted from 0. It must exist.
inline int select_bit(std::uint64_t word, int k) {
  int place = 0;
  for (int half = 32; half > 0; half /= 2) {
    const int below = std::popcount(word & ((std::uint64_t{1} << half) - 1));
    const bool above = k >= below;
    k -= above ? below : 0;
    place += above ? half : 0;
    word >>= above ? half : 0;
  }
  return place;
}

// One word of each of four boards.
using Quad = std::uint64_t __attribute__((vector_size(32), may_alias));

template <int W>
struct QuadBoards {
  Quad word[W];

  std::uint64_t at(int w, int lane) const {
    return reinterpret_cast<const std::uint64_t*>(word)[w * kSnakeLanes + lane];
  }
  std::uint64_t& at(int w, int lane) {
    return reinterpret_cast<std::uint64_t*>(word)[w * kSnakeLanes + lane];
  }
  bool bit(int cell, int lane) const { return at(cell >> 6, lane) >> (cell & 63) & 1; }
  int count(int lane) const {
    int sum = 0;
    for (int w = 0; w < W; ++w) sum += std::popcount(at(w, lane));
    return sum;
  }
};

inline bool any(Quad quad) {
#ifdef __AVX2__
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(quad), reinterpret_cast<__m256i>(quad));
#else
  return (quad[0] | quad[1] | quad[2] | quad[3]) != 0;
#endif
}

// All cells next to `boards` along one axis: a step of `stride` bits in both directions.
template <int W>
inline QuadBoards<W> adjacent(const QuadBoards<W>& boards, int stride) {
  QuadBoards<W> result;
  for (int w = 0; w < W; ++w) {
    Quad quad = boards.word[w] << stride | boards.word[w] >> stride;
    if (w > 0) quad |= boards.word[w - 1] >> (64 - stride);
    if (w + 1 < W) quad |= boards.word[w + 1] << (64 - stride);
    result.word[w] = quad;
  }
  return result;
}

template <int W>
inline QuadBoards<W> neighbours(const QuadBoards<W>& boards, int stride) {
  QuadBoards<W> result = adjacent(boards, 1);
  const QuadBoards<W> vertical = adjacent(boards, stride);
  for (int w = 0; w < W; ++w) result.word[w] |= vertical.word[w];
  return result;
}

template <int W>
inline void grow(QuadBoards<W>& region, const QuadBoards<W>& free, int stride) {
  const QuadBoards<W> horizontal = adjacent(region, 1);
  for (int w = 0; w < W; ++w) region.word[w] |= horizontal.word[w] & free.word[w];
  const QuadBoards<W> vertical = adjacent(region, stride);
  for (int w = 0; w < W; ++w) region.word[w] |= vertical.word[w] & free.word[w];
}

// Extends `region` to everything connected to it through free cells.
template <int W>
inline void fill(QuadBoards<W>& region, const QuadBoards<W>& free, int stride) {
  Quad changed;
  do {  // two rounds at a time: a round is cheaper than checking whether it is needed
    const QuadBoards<W> before = region;
    grow(region, free, stride);
    grow(region, free, stride);
    changed = Quad{};
    for (int w = 0; w < W; ++w) changed |= region.word[w] ^ before.word[w];
  } while (any(changed));
}

// The lowest set bit of each board that has any.
template <int W>
inline QuadBoards<W> lowest(const QuadBoards<W>& boards) {
  QuadBoards<W> result;
  Quad none_yet = ~Quad{};
  for (int w = 0; w < W; ++w) {
    result.word[w] = boards.word[w] & -boards.word[w] & none_yet;
    none_yet &= boards.word[w] == Quad{};
  }
  return result;
}

// The board of each lane with one bit set.
template <int W>
inline QuadBoards<W> single_cells(Quad cells) {
  QuadBoards<W> result;
  const Quad bits = Quad{1, 1, 1, 1} << (cells & 63);
  for (int w = 0; w < W; ++w) {
    result.word[w] = bits & (cells >> 6 == static_cast<std::uint64_t>(w) + Quad{});
  }
  return result;
}

// What is reachable from the cells next to the head.
template <int W>
struct QuadFlood {
  std::array<std::array<int, kSnakeLanes>, 3>
      count;              // from each cell in `looked_at`, 0 if not free
  QuadBoards<W> reached;  // from all neighbours of the head
};

// Finds the regions one by one, so cells of the same region share one fill.
template <int W>
inline QuadFlood<W> flood(const QuadBoards<W>& free, const QuadBoards<W>& heads,
                          const std::array<std::array<int, kSnakeLanes>, 3>& looked_at,
                          int stride) {
  QuadFlood<W> result;
  result.count = {};
  QuadBoards<W> rest = neighbours(heads, stride);
  for (int w = 0; w < W; ++w) {
    rest.word[w] &= free.word[w];
    result.reached.word[w] = Quad{};
  }
  for (;;) {
    QuadBoards<W> region = lowest(rest);
    fill(region, free, stride);
    Quad left{};
    for (int w = 0; w < W; ++w) {
      result.reached.word[w] |= region.word[w];
      rest.word[w] &= ~region.word[w];
      left |= rest.word[w];
    }
    for (int lane = 0; lane < kSnakeLanes; ++lane) {
      const int count = region.count(lane);
      for (int k = 0; k < 3; ++k) {
        result.count[k][lane] += region.bit(looked_at[k][lane], lane) ? count : 0;
      }
    }
    if (!any(left)) return result;
  }
}

}  // namespace hotloop
