// Numbers of NumPy 1.24's legacy generator after np.random.seed(47).
#include "graph/numpy_random.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hotloop {
namespace {

TEST(NumpyRandom, Reals) {
  NumpyRandom random(47);
  for (const double expected : {0.113488471894, 0.974483094436, 0.728734633501}) {
    EXPECT_NEAR(random.uniform(), expected, 1e-12);
  }
}

TEST(NumpyRandom, Normals) {
  NumpyRandom random(47);
  for (const double expected : {-0.084800947577, 0.130590635795, 0.092420796622}) {
    EXPECT_NEAR(0.1 * random.normal(), expected, 1e-12);
  }
}

TEST(NumpyRandom, Integers) {
  NumpyRandom random(47);
  for (const int expected : {12, 11, 12, 13, 13}) EXPECT_EQ(random.below(5, 36), expected);
}

TEST(NumpyRandom, ARangeOfOneTakesNoWord) {
  NumpyRandom random(47);
  EXPECT_EQ(random.below(9, 10), 9);
  EXPECT_NEAR(random.uniform(), 0.113488471894, 1e-12);
}

// As random_interval of NumPy: 64 bits, the first word on top, masked to 34 bits here.
TEST(NumpyRandom, LargeRangesTakeTwoWords) {
  NumpyRandom random(47);
  std::mt19937 words(47);
  constexpr std::int64_t kHigh = 10'000'000'000;
  for (int i = 0; i < 100; ++i) {
    std::int64_t expected = kHigh;
    while (expected >= kHigh) {
      const std::uint64_t high = words();
      expected = static_cast<std::int64_t>((high << 32 | words()) & 0x3ffffffff);
    }
    EXPECT_EQ(random.below(std::int64_t{5}, kHigh + 5), expected + 5);
  }
}

TEST(NumpyRandom, IntegersCoverTheirRangeEvenly) {
  NumpyRandom random(3);
  int counts[5] = {};
  for (int i = 0; i < 50'000; ++i) ++counts[random.below(-2, 3) + 2];
  for (const int count : counts)
    EXPECT_NEAR(count, 10'000, 500);  // more than five standard deviations
}

}  // namespace
}  // namespace hotloop
