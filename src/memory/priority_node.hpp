// The nodes of a PriorityTree and the searches within them, none with a branch that nobody could
// predict. A node is one register of 512 bits where the CPU has such; the numbers are whole, so that the
// width of registers changes nothing but the time. Only priority_tree.cpp, which is compiled for it,
// includes this.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <array>
#include <cstdint>

namespace hotloop::priority_node {

using Words = std::int64_t __attribute__((vector_size(32), may_alias));

// An inner node: for each child the sum of all children before it, so the first is 0. Of the children
// whose sum is below the bound, the last is the one that point `bound - 1` falls into; this counts
// them. (The vector unit knows "less" but not "less or equal".) Comparisons are packed into the bits of
// one word and counted there.
template <int kChildren>
inline std::uint64_t count_below(const std::int64_t* node, std::int64_t bound) {
  static_assert(kChildren == 8 || kChildren == 16);
#if defined(__AVX512F__)
  const auto below = [node, bounds = _mm512_set1_epi64(bound)](int first) {
    return unsigned{_mm512_cmplt_epi64_mask(_mm512_load_si512(node + first), bounds)};
  };
  unsigned held = below(0);
  if constexpr (kChildren == 16) held |= below(8) << 8;
  return static_cast<std::uint64_t>(__builtin_popcountll(held));
#elif defined(__AVX2__)
  const auto below = [node, bounds = _mm256_set1_epi64x(bound)](int first) {
    return _mm256_cmpgt_epi64(bounds, *reinterpret_cast<const __m256i*>(node + first));
  };
  const __m256i eight = _mm256_packs_epi32(below(0), below(4));
  unsigned held;
  if constexpr (kChildren == 8) {
    held = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(eight)));
  } else {
    const __m256i others = _mm256_packs_epi32(below(8), below(12));
    const __m256i all = _mm256_packs_epi16(eight, others);
    held = static_cast<unsigned>(_mm256_movemask_epi8(all)) & 0x55555555;  // each has two bits
  }
  return static_cast<std::uint64_t>(__builtin_popcountll(held));
#else
  std::uint64_t count = 0;
  for (int i = 0; i < kChildren; ++i) count += node[i] < bound;
  return count;
#endif
}

#if defined(__AVX512F__)
// One of eight children grows: so do the sums of all later ones.
inline void add(std::int64_t* node, std::uint64_t child, std::int64_t difference) {
  const __m512i sums = _mm512_load_si512(node);
  const auto later = static_cast<__mmask8>(0xfe << child);
  _mm512_store_si512(node, _mm512_mask_add_epi64(sums, later, sums, _mm512_set1_epi64(difference)));
}

// A node of whole registers, all of whose children may have grown: the sum of each grows by what the
// earlier ones have grown by. Gives what all have grown by.
inline std::int64_t grow(std::int64_t* node, const std::int64_t* growth, std::int64_t children) {
  const __m512i zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
  __m512i before = zero;
  for (std::int64_t i = 0; i < children; i += 8) {
    const __m512i own = _mm512_load_si512(growth + i);
    const __m512i pairs = _mm512_add_epi64(own, _mm512_alignr_epi64(own, zero, 7));
    const __m512i fours = _mm512_add_epi64(pairs, _mm512_alignr_epi64(pairs, zero, 6));
    const __m512i sums = _mm512_add_epi64(fours, _mm512_alignr_epi64(fours, zero, 4));
    const __m512i earlier = _mm512_add_epi64(before, _mm512_sub_epi64(sums, own));
    _mm512_store_si512(node + i, _mm512_add_epi64(_mm512_load_si512(node + i), earlier));
    before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(last, sums));
  }
  return _mm_cvtsi128_si64(_mm512_castsi512_si128(before));
}
#else
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

// A node of whole vectors, all of whose children may have grown: the sum of each grows by what the
// earlier ones have grown by. Gives what all have grown by.
inline std::int64_t grow(std::int64_t* node, const std::int64_t* growth, std::int64_t children) {
  const Words zero{};
  Words before{};
  for (std::int64_t i = 0; i < children; i += 4) {
    const Words own = *reinterpret_cast<const Words*>(growth + i);
    const Words pairs = own + __builtin_shufflevector(own, zero, 4, 0, 4, 2);
    const Words sums = pairs + __builtin_shufflevector(pairs, zero, 4, 4, 1, 1);
    *reinterpret_cast<Words*>(node + i) += before + sums - own;
    before += __builtin_shufflevector(sums, sums, 3, 3, 3, 3);
  }
  return before[0];
}
#endif

// Four floats as doubles. GCC does not see by itself that one instruction does it.
using Doubles = double __attribute__((vector_size(32)));
inline Doubles widen(const float* values) {
#ifdef __AVX2__
  return _mm256_cvtps_pd(_mm_load_ps(values));
#else
  return Doubles{values[0], values[1], values[2], values[3]};
#endif
}

// A lowest node has sixteen leaves, whole numbers, in four runs of four: run 0 has the positions 0, 4, 8
// and 12, so that the runs are summed side by side, one in each lane.
//
// The leaf that point `bound - 1` falls into: the number of leaves with which the sum so far is still
// below the bound. What came before a run is taken off the bound instead of being added to each of the
// run's sums. This one is right for any leaves: their sums are below 2^53, which doubles add exactly.
inline std::uint64_t leaf_of(const float* node, std::int64_t bound) {
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
  return static_cast<std::uint64_t>(-(held[0] + held[1] + held[2] + held[3]));
}

// The same for leaves whose sum is within 31 bits.
inline std::uint64_t narrow_leaf_of(const float* node, std::int64_t bound) {
#if defined(__AVX512F__)
  const __m512i zero = _mm512_setzero_si512();
  const __m512i own = _mm512_cvttps_epi32(_mm512_load_ps(node));
  const __m512i pairs = _mm512_add_epi32(own, _mm512_alignr_epi32(own, zero, 12));
  const __m512i sums = _mm512_add_epi32(pairs, _mm512_alignr_epi32(pairs, zero, 8));
  const __m128i run = _mm512_extracti32x4_epi32(sums, 3);
  const __m128i one = _mm_slli_si128(run, 4), two = _mm_slli_si128(run, 8),
                three = _mm_slli_si128(run, 12);
  const __m128i before = _mm_add_epi32(_mm_add_epi32(one, two), three);
  const __m128i left = _mm_sub_epi32(_mm_set1_epi32(static_cast<int>(bound)), before);
  const unsigned held = _mm512_cmplt_epi32_mask(sums, _mm512_broadcast_i32x4(left));
  return static_cast<std::uint64_t>(__builtin_popcountll(held));
#elif defined(__AVX2__)
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
  const auto held = static_cast<unsigned>(_mm_movemask_epi8(below));
  return static_cast<std::uint64_t>(__builtin_popcountll(held));
#else
  return leaf_of(node, bound);
#endif
}

}  // namespace hotloop::priority_node
