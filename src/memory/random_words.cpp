#include "memory/random_words.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <Random123/philox.h>

#include <algorithm>

namespace hotloop {
namespace {

// Sixteen blocks side by side, each of four draws of 32 bits, four blocks in a register. A draw has
// the low half of 64 bits; what a product leaves in the high half is ignored.
constexpr int kBlocks = 16;
constexpr int kRegisters = 4;
constexpr std::size_t kWords = 2 * kBlocks;
using Whole = std::uint64_t __attribute__((vector_size(32), may_alias));  // [4]
using Stored = std::uint64_t __attribute__((vector_size(32), aligned(8), may_alias));
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

// Philox 4x32-10 (Salmon et al. 2011) of the counters (first + i, lane, step), i < 16.
void philox(std::uint64_t seed, std::uint32_t first, std::uint32_t lane, std::uint64_t step,
            std::uint64_t* words) {
  Whole x0[kRegisters], x1[kRegisters], x2[kRegisters], x3[kRegisters];
  for (int r = 0; r < kRegisters; ++r) {
    x0[r] = Whole{0, 1, 2, 3} + first + 4 * r;
    x1[r] = Whole{} + lane;
    x2[r] = Whole{} + step;
    x3[r] = Whole{} + (step >> 32);
  }
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int r = 0; r < kRegisters; ++r) {
      const Whole a = multiply(x0[r], Whole{} + PHILOX_M4x32_0);
      const Whole b = multiply(x2[r], Whole{} + PHILOX_M4x32_1);
      x0[r] = b >> 32 ^ x1[r] ^ key0;
      x1[r] = b;
      x2[r] = a >> 32 ^ x3[r] ^ key1;
      x3[r] = a;
    }
    key0 += PHILOX_W32_0;
    key1 += PHILOX_W32_1;
  }
  for (int r = 0; r < kRegisters; ++r) {
    const Whole even = x0[r] << 32 | (x1[r] & kLow), odd = x2[r] << 32 | (x3[r] & kLow);
    Stored* to = reinterpret_cast<Stored*>(words + 8 * r);
    to[0] = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
    to[1] = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
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
