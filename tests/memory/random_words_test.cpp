#include "memory/random_words.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hotloop {
namespace {

TEST(RandomWords, AreTheDrawsOfTheStream) {
  for (const std::size_t count : {0, 1, 2, 15, 16, 17, 32, 100}) {
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{7} << 33 | 5}) {
      const std::uint64_t seed = 0x123456789abcdef0 + count;
      std::vector<std::uint64_t> words(count + 1, 42);
      random_words(seed, Purpose::replay, 3, step, std::span(words).first(count));
      Rng rng(seed, Purpose::replay, 3, step);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t high = rng.bits();
        ASSERT_EQ(words[i], high << 32 | rng.bits()) << i << " of " << count;
      }
      ASSERT_EQ(words[count], 42u) << "wrote past the end";
    }
  }
}

}  // namespace
}  // namespace hotloop
