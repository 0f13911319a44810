#include "memory/random_words.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>

namespace hotloop {
namespace {

// Eight blocks side by side, each of four draws of 32 bits.
constexpr int kBlocks = 8;
constexpr std::size_t kWords = 2 * kBlocks;
using Half = std::uint32_t __attribute__((vector_size(32)));   // [8]
using Whole = std::uint64_t __attribute__((vector_size(32)));  // [4]
constexpr std::uint64_t kLow = 0xffffffff;

// The low halves of a and b multiplied. GCC does not see by itself that one instruction does it.
inline Whole multiply(Whole a, Whole b) {
#ifdef __AVX2__
  return reinterpret_cast<Whole>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return (a & kLow) * (b & kLow);
#endif
}

struct Product {
  Half high, low;
};
inline Product multiply(Half x, std::uint32_t factor) {
  const Whole pairs = reinterpret_cast<Whole>(x), factors = Whole{} + factor;
  const Whole even = multiply(pairs, factors), odd = multiply(pairs >> 32, factors);
  return {reinterpret_cast<Half>(even >> 32 | (odd & ~kLow)),
          reinterpret_cast<Half>((even & kLow) | odd << 32)};
}

// Philox 4x32-10 (Salmon et al. 2011) of the counters (first + i, lane, step), i < 8.
void philox(std::uint64_t seed, std::uint32_t first, std::uint32_t lane, std::uint64_t step,
            std::uint64_t* words) {
  Half x0 = Half{0, 1, 2, 3, 4, 5, 6, 7} + first, x1 = Half{} + lane;
  Half x2 = Half{} + static_cast<std::uint32_t>(step);
  Half x3 = Half{} + static_cast<std::uint32_t>(step >> 32);
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Product a = multiply(x0, PHILOX_M4x32_0), b = multiply(x2, PHILOX_M4x32_1);
    x0 = b.high ^ x1 ^ key0;
    x1 = b.low;
    x2 = a.high ^ x3 ^ key1;
    x3 = a.low;
    key0 += PHILOX_W32_0;
    key1 += PHILOX_W32_1;
  }
  for (int i = 0; i < kBlocks; ++i) {
    words[2 * i] = std::uint64_t{x0[i]} << 32 | x1[i];
    words[2 * i + 1] = std::uint64_t{x2[i]} << 32 | x3[i];
  }
}

}  // namespace

void random_words(std::uint64_t seed, Purpose purpose, std::uint32_t lane, std::uint64_t step,
                  std::span<std::uint64_t> words) {
  std::uint32_t counter = static_cast<std::uint32_t>(purpose) << 24;
  std::size_t done = 0;
  for (; done + kWords <= words.size(); done += kWords, counter += kBlocks)
    philox(seed, counter, lane, step, words.data() + done);
  if (done == words.size()) return;
  std::uint64_t rest[kWords];
  philox(seed, counter, lane, step, rest);
  std::copy_n(rest, words.size() - done, words.data() + done);
}

}  // namespace hotloop
