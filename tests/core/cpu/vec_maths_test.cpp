#include "core/cpu/vec_maths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace hotloop {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float exp2_one(float y) { return exp2_of(broadcast(y))[0]; }
float log2_one(float x) { return log2_of(broadcast(x))[0]; }

// Against the library in double precision, over all exponents.
TEST(VecMaths, Exp2EqualsTheLibrary) {
  double worst = 0;
  for (int i = -1'260'000; i <= 1'270'000; ++i) {
    const float y = static_cast<float>(i) * 1e-4f;
    worst = std::max(worst, std::abs(exp2_one(y) / std::exp2(double{y}) - 1));
  }
  EXPECT_LT(worst, 1.2e-7);
  for (int n = -126; n <= 127; ++n) ASSERT_EQ(exp2_one(static_cast<float>(n)), std::ldexp(1.0f, n));
}

TEST(VecMaths, Log2EqualsTheLibrary) {
  double worst = 0;
  for (int e = -126; e < 128; ++e) {
    for (int i = 0; i < 4096; ++i) {
      const float x = std::ldexp(1 + static_cast<float>(i) / 4096, e);
      const double exact = std::log2(double{x});
      const double last_bit = std::abs(exact) * 0x1p-24;
      worst = std::max(worst, std::abs(log2_one(x) - exact) / std::max(1e-7, last_bit + 1e-7));
    }
    ASSERT_EQ(log2_one(std::ldexp(1.0f, e)), static_cast<float>(e));
  }
  EXPECT_LE(worst, 1);
}

TEST(VecMaths, ValuesOutOfRangeAreClamped) {
  EXPECT_EQ(exp2_one(-kInfinity), std::ldexp(1.0f, -126));
  EXPECT_EQ(exp2_one(1e9f), std::ldexp(1.0f, 127));
  EXPECT_TRUE(std::isnan(exp2_one(NAN)));
  EXPECT_EQ(log2_one(0), -127);
  EXPECT_EQ(log2_one(kInfinity), 128);
}

// The result does not depend on the lane, to the bit.
TEST(VecMaths, EveryLaneGivesTheSameBits) {
  for (int first = -2000; first < 2000; first += kVec) {
    float y[kVec], powers[kVec], logs[kVec];
    for (int i = 0; i < kVec; ++i) y[i] = static_cast<float>(first + i) * 0.0712345f;
    store(powers, exp2_of(load(y)));
    store(logs, log2_of(load(powers)));
    for (int i = 0; i < kVec; ++i) {
      const float power = exp2_one(y[i]), log = log2_one(powers[i]);
      ASSERT_EQ(std::memcmp(&powers[i], &power, sizeof power), 0);
      ASSERT_EQ(std::memcmp(&logs[i], &log, sizeof log), 0);
    }
  }
}

TEST(VecMaths, PolynomialInDescendingPowers) {
  EXPECT_EQ(polynomial(broadcast(2), {3.0f, 5.0f, 7.0f})[0], 29);
}

}  // namespace
}  // namespace hotloop
