// The nodes of a PriorityTree and the searches within them, without a branch but for huge leaves. A node is
// one register of 512 bits where the CPU has such; the numbers are whole, so that the width of registers
// changes nothing but the time. Only priority_tree.cpp, which is compiled for it, includes this.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <cstdint>

namespace hotloop::priority_node {

// An inner node: for each child the sum of all children before it, so the first is 0. Of the children
// whose sum is below the bound, the last is the one that point `bound - 1` falls into; this counts
// them. (The vector unit knows "less" but not "less or equal".) Comparisons are packed into the bits of
// one word and counted there.
template <int kChildren>
inline std::uint64_t count_below(const std::int64_t* node, std::int64_t bound) {
  static_assert(kChildren == 8 || kChildren == 16);
#if defined(__AVX512DQ__)
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

#if defined(__AVX512DQ__)
// For each of eight numbers the sum up to it.
inline __m512i sums_of(__m512i own) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i pairs = _mm512_add_epi64(own, _mm512_alignr_epi64(own, zero, 7));
  const __m512i fours = _mm512_add_epi64(pairs, _mm512_alignr_epi64(pairs, zero, 6));
  return _mm512_add_epi64(fours, _mm512_alignr_epi64(fours, zero, 4));
}

// One of eight children grows: so do the sums of all later ones.
inline void add(std::int64_t* node, std::uint64_t child, std::int64_t difference) {
  const __m512i sums = _mm512_load_si512(node);
  const auto later = static_cast<__mmask8>(0xfe << child);
  _mm512_store_si512(node, _mm512_mask_add_epi64(sums, later, sums, _mm512_set1_epi64(difference)));
}

// A node of whole registers, all of whose children may have grown: the sum of each grows by what the
// earlier ones have grown by. Gives what all have grown by.
inline std::int64_t grow(std::int64_t* node, const std::int64_t* growth, std::int64_t children) {
  const __m512i last = _mm512_set1_epi64(7);
  __m512i before = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < children; i += 8) {
    const __m512i own = _mm512_load_si512(growth + i);
    const __m512i sums = sums_of(own);
    const __m512i earlier = _mm512_add_epi64(before, _mm512_sub_epi64(sums, own));
    _mm512_store_si512(node + i, _mm512_add_epi64(_mm512_load_si512(node + i), earlier));
    before = _mm512_add_epi64(before, _mm512_permutexvar_epi64(last, sums));
  }
  return _mm_cvtsi128_si64(_mm512_castsi512_si128(before));
}
#else
using Words = std::int64_t __attribute__((vector_size(32), may_alias));

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

// A lowest node: eight words, in whose lower halves the given bits are a float that is a whole number. The
// leaf that point `bound - 1` falls into: the number of leaves with which the sum so far is still below
// the bound.
inline std::uint64_t leaf_of(const std::uint64_t* node, std::uint32_t bits, std::int64_t bound) {
#if defined(__AVX512DQ__)
  const __m256i halves = _mm512_cvtepi64_epi32(_mm512_load_si512(node));
  const __m256i floats = _mm256_and_si256(halves, _mm256_set1_epi32(static_cast<int>(bits)));
  const __m512i sums = sums_of(_mm512_cvttps_epi64(_mm256_castsi256_ps(floats)));
  const unsigned below = _mm512_cmplt_epi64_mask(sums, _mm512_set1_epi64(bound));
  return static_cast<std::uint64_t>(__builtin_popcountll(below));
#else
#if defined(__AVX2__)
  const __m256 low = _mm256_load_ps(reinterpret_cast<const float*>(node));
  const __m256 high = _mm256_load_ps(reinterpret_cast<const float*>(node + 4));
  const __m256i halves = _mm256_permute4x64_epi64(  // of 0 1 4 5 2 3 6 7
      _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88)), 0xd8);
  const __m256i floats = _mm256_and_si256(halves, _mm256_set1_epi32(static_cast<int>(bits)));
  const __m256i own = _mm256_cvttps_epi32(_mm256_castsi256_ps(floats));
  if (_mm256_testz_si256(own, _mm256_set1_epi32(-1 << 28)) != 0)
      [[likely]] {  // the sum has 31 bits
    const __m256i pairs = _mm256_add_epi32(own, _mm256_slli_si256(own, 4));
    const __m256i fours = _mm256_add_epi32(pairs, _mm256_slli_si256(pairs, 8));
    const __m256i first_half = _mm256_permute2x128_si256(fours, fours, 0x08);  // behind zeros
    const __m256i sums = _mm256_add_epi32(fours, _mm256_shuffle_epi32(first_half, 0xff));
    const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(bound)), sums);
    const auto held = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(below)));
    return static_cast<std::uint64_t>(__builtin_popcountll(held));
  }
#endif
  std::uint64_t count = 0;
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t own_bits = static_cast<std::uint32_t>(node[i]) & bits;
    bound -= static_cast<std::int64_t>(std::bit_cast<float>(own_bits));
    count += bound > 0;
  }
  return count;
#endif
}

}  // namespace hotloop::priority_node
