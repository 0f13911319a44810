// The nodes of a PriorityTree and the searches within them, none with a branch that nobody could
// predict.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <array>
#include <cstdint>

namespace hotloop::priority_node {

using Words = std::int64_t __attribute__((vector_size(32), may_alias));

// An inner node: for each child the sum of all children before it, so the first is 0. The child that
// point `bound - 1` falls into is the last one whose sum is below the bound. (The vector unit knows
// "less" but not "less or equal".) Comparisons are packed into the bits of one word and counted there.
template <int kChildren>
inline std::int64_t child_of(const std::int64_t* node, std::int64_t bound) {
  static_assert(kChildren == 8 || kChildren == 16);
#ifdef __AVX2__
  const auto below = [node, bounds = _mm256_set1_epi64x(bound)](int first) {
    return _mm256_cmpgt_epi64(bounds, *reinterpret_cast<const __m256i*>(node + first));
  };
  unsigned count;
  if constexpr (kChildren == 8) {
    const __m256i held = _mm256_packs_epi32(below(0), below(4));
    count =
        __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(held))));
  } else {
    const __m256i half = _mm256_packs_epi32(below(0), below(4));
    const __m256i other = _mm256_packs_epi32(below(8), below(12));
    const __m256i held = _mm256_packs_epi16(half, other);
    count = __builtin_popcount(static_cast<unsigned>(_mm256_movemask_epi8(held))) / 2u;
  }
  return static_cast<std::int64_t>(count) - 1;
#else
  std::int64_t child = -1;
  for (int i = 0; i < kChildren; ++i) child += node[i] < bound;
  return child;
#endif
}

// For each of eight children, all bits of the later ones.
alignas(64) inline constexpr auto kLater = [] {
  std::array<std::array<std::int64_t, 8>, 8> masks{};
  for (int child = 0; child < 8; ++child)
    for (int later = child + 1; later < 8; ++later) masks[child][later] = -1;
  return masks;
}();

// One of eight children grows: so do the sums of all later ones.
inline void add(std::int64_t* node, std::uint64_t child, std::int64_t difference) {
  Words* sums = reinterpret_cast<Words*>(node);
  const Words* later = reinterpret_cast<const Words*>(kLater[child].data());
  sums[0] += difference & later[0];
  sums[1] += difference & later[1];
}

// A lowest node: sixteen leaves, whole numbers. Four runs of four are summed side by side, one in each
// lane, so the leaves lie like a transposed matrix: run 0 has the positions 0, 4, 8, 12.
inline std::int64_t position(std::int64_t leaf) {
  return (leaf & ~std::int64_t{15}) | (leaf & 3) << 2 | (leaf >> 2 & 3);
}

// Four floats as doubles. GCC does not see by itself that one instruction does it.
using Doubles = double __attribute__((vector_size(32)));
inline Doubles widen(const float* values) {
#ifdef __AVX2__
  return _mm256_cvtps_pd(_mm_load_ps(values));
#else
  return Doubles{values[0], values[1], values[2], values[3]};
#endif
}

// Leaves below this have sums within 31 bits.
inline constexpr float kNarrow = 0x1p27f;

// The leaf that point `bound - 1` falls into: the number of leaves with which the sum so far is still
// below the bound. What came before a run is taken off the bound instead of being added to each of the
// run's sums. This one is right for any leaves: their sums are below 2^53, which doubles add exactly.
inline std::int64_t leaf_of(const float* node, std::int64_t bound) {
  const Doubles first = widen(node);
  const Doubles second = first + widen(node + 4);
  const Doubles third = second + widen(node + 8);
  const Doubles run = third + widen(node + 12);
  const Doubles zero = {};
  const Doubles before = __builtin_shufflevector(run, zero, 4, 0, 1, 2) +
                         __builtin_shufflevector(run, zero, 4, 4, 0, 1) +
                         __builtin_shufflevector(run, zero, 4, 4, 4, 0);
  const Doubles left = static_cast<double>(bound) - before;
  const Words held = (first < left) + (second < left) + (third < left) + (run < left);
  return -(held[0] + held[1] + held[2] + held[3]);
}

// The same for leaves below kNarrow.
inline std::int64_t narrow_leaf_of(const float* node, std::int64_t bound) {
#ifdef __AVX2__
  const auto row = [node](int i) { return _mm_cvttps_epi32(_mm_load_ps(node + 4 * i)); };
  const __m128i first = row(0);
  const __m128i second = _mm_add_epi32(first, row(1));
  const __m128i third = _mm_add_epi32(second, row(2));
  const __m128i run = _mm_add_epi32(third, row(3));
  const __m128i one = _mm_slli_si128(run, 4), two = _mm_slli_si128(run, 8),
                three = _mm_slli_si128(run, 12);
  const __m128i before = _mm_add_epi32(_mm_add_epi32(one, two), three);
  const __m128i left = _mm_sub_epi32(_mm_set1_epi32(static_cast<int>(bound)), before);
  const __m128i below =
      _mm_packs_epi16(_mm_packs_epi32(_mm_cmpgt_epi32(left, first), _mm_cmpgt_epi32(left, second)),
                      _mm_packs_epi32(_mm_cmpgt_epi32(left, third), _mm_cmpgt_epi32(left, run)));
  return static_cast<unsigned>(__builtin_popcount(_mm_movemask_epi8(below)));
#else
  return leaf_of(node, bound);
#endif
}

}  // namespace hotloop::priority_node
