// The nodes of a PriorityTree and the searches within them, none with a branch that nobody could
// predict.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cstdint>

namespace hotloop::priority_node {

using Words = std::int64_t __attribute__((vector_size(32), may_alias));
using Doubles = double __attribute__((vector_size(32)));

// How many comparisons held; each lane has counted its own downwards.
inline std::int64_t count(Words held) {
  using Half = std::int64_t __attribute__((vector_size(16)));
  const Half half =
      __builtin_shufflevector(held, held, 0, 1) + __builtin_shufflevector(held, held, 2, 3);
  return -(half[0] + half[1]);
}

// An inner node: for each child the sum of all children before it, so the first is 0. The child that
// point `bound - 1` falls into is the last one whose sum is below the bound.
template <int kChildren>
inline std::int64_t child_of(const std::int64_t* node, std::int64_t bound) {
  const Words* sums = reinterpret_cast<const Words*>(node);
  Words held = {};
  for (std::int64_t i = 0; i < kChildren / 4; ++i) held += sums[i] < bound;
  return count(held) - 1;
}

// A child grows: so do the sums of all later ones.
template <int kChildren>
inline void add(std::int64_t* node, std::int64_t child, std::int64_t difference) {
  Words* sums = reinterpret_cast<Words*>(node);
  for (std::int64_t i = 0; i < kChildren / 4; ++i)
    sums[i] += difference & (Words{0, 1, 2, 3} + 4 * i > child);
}

// Four floats as doubles. GCC does not see by itself that one instruction does it.
inline Doubles widen(const float* values) {
#ifdef __AVX2__
  return _mm256_cvtps_pd(_mm_load_ps(values));
#else
  return Doubles{values[0], values[1], values[2], values[3]};
#endif
}

// A lowest node: sixteen leaves, whole numbers with a sum below 2^53, which doubles add exactly. Four
// runs of four are summed side by side, one in each lane, so the leaves lie like a transposed matrix:
// run 0 has the positions 0, 4, 8, 12.
inline std::int64_t position(std::int64_t leaf) {
  return (leaf & ~std::int64_t{15}) | (leaf & 3) << 2 | (leaf >> 2 & 3);
}

// What came before a run is taken off the bound instead of being added to each of its sums.
inline std::int64_t leaf_of(const float* node, double bound) {
  const Doubles first = widen(node);
  const Doubles second = first + widen(node + 4);
  const Doubles third = second + widen(node + 8);
  const Doubles run = third + widen(node + 12);
  const Doubles zero = {};
  const Doubles before = __builtin_shufflevector(run, zero, 4, 0, 1, 2) +
                         __builtin_shufflevector(run, zero, 4, 4, 0, 1) +
                         __builtin_shufflevector(run, zero, 4, 4, 4, 0);
  const Doubles left = bound - before;
  return count((first < left) + (second < left) + (third < left) + (run < left));
}

}  // namespace hotloop::priority_node
