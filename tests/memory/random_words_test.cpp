#include "memory/random_words.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hotloop {
namespace {

// High halves are the 32-bit draws of the stream, in order; low halves are the draw of the next
// word in the group of four.
TEST(RandomWords, AreTheDrawsOfTheStream) {
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 15, 16, 17, 32, 100}) {
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{7} << 33 | 5}) {
      const Rng stream(0x123456789abcdef0 + count, Purpose::replay, 3, step);
      std::vector<std::uint64_t> words(count + 1, 42);
      random_words(stream, std::span(words).first(count));
      Rng rng = stream;
      std::vector<std::uint32_t> draws((count + 3) / 4 * 4);
      for (std::uint32_t& draw : draws) draw = rng.bits();
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t neighbour = i % 4 == 3 ? i - 3 : i + 1;
        ASSERT_EQ(words[i] >> 32, draws[i]) << i << " of " << count;
        ASSERT_EQ(static_cast<std::uint32_t>(words[i]), draws[neighbour]) << i << " of " << count;
      }
      ASSERT_EQ(words[count], 42u) << "wrote past the end";
    }
  }
}

}  // namespace
}  // namespace hotloop
