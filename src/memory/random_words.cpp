#include "memory/random_words.hpp"

#include <Random123/philox.h>

#include <algorithm>

namespace hotloop {
namespace {

constexpr int kBlocks = 16;
constexpr std::size_t kWords = 2 * kBlocks;

// Philox 4x32-10 (Salmon et al. 2011) of the counters (first + i, lane, step), i < 16. Blocks side by
// side, so that the compiler can keep several in a vector register.
void philox(std::uint64_t seed, std::uint32_t first, std::uint32_t lane, std::uint64_t step,
            std::uint64_t* words) {
  std::uint32_t x0[kBlocks], x1[kBlocks], x2[kBlocks], x3[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    x0[i] = first + i;
    x1[i] = lane;
    x2[i] = static_cast<std::uint32_t>(step);
    x3[i] = static_cast<std::uint32_t>(step >> 32);
  }
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 1
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t a = std::uint64_t{x0[i]} * PHILOX_M4x32_0;
      const std::uint64_t b = std::uint64_t{x2[i]} * PHILOX_M4x32_1;
      x0[i] = static_cast<std::uint32_t>(b >> 32) ^ x1[i] ^ key0;
      x1[i] = static_cast<std::uint32_t>(b);
      x2[i] = static_cast<std::uint32_t>(a >> 32) ^ x3[i] ^ key1;
      x3[i] = static_cast<std::uint32_t>(a);
    }
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
