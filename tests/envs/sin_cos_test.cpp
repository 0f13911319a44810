#include "envs/sin_cos.hpp"

#include <gtest/gtest.h>
#include <hotloop/rng.hpp>

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

double ulps(double a, double b) {
  return std::abs(a - b) / (std::nextafter(std::abs(b), 10) - std::abs(b));
}

struct Worst {
  double sin = 0, cos = 0;
  void look_at(double a, const SinCos& found) {
    sin = std::max(sin, ulps(found.sin, std::sin(a)));
    cos = std::max(cos, ulps(found.cos, std::cos(a)));
  }
};

TEST(SinCos, NearZeroWithinAnUlp) {
  Worst worst;
  for (int i = -20000; i <= 20000; ++i) {
    const double a = kEighthTurn * i / 20000.0;
    worst.look_at(a, sin_cos_near_zero(a));
  }
  EXPECT_LE(worst.sin, 1);
  EXPECT_LE(worst.cos, 1);
}

TEST(SinCos, WithinTwoUlpsOverTheRange) {
  Worst worst;
  Rng rng(1, Purpose::test, 0, 0);
  for (const double range : {4.0, 30.0, 1000.0, 1e6}) {
    for (int i = 0; i < 50000; ++i) {
      const double a = rng.uniform(-range, range);
      worst.look_at(a, sin_cos(a));
    }
  }
  EXPECT_LE(worst.sin, 2);
  EXPECT_LE(worst.cos, 2);
}

// Where one of the two is nearly zero, the argument reduction must keep all digits.
TEST(SinCos, WithinTwoUlpsNearQuarterTurns) {
  Worst worst;
  for (int turns = -2000; turns <= 2000; ++turns) {
    const double a = turns * (std::numbers::pi / 2);
    for (const double angle : {std::nextafter(a, -1e9), a, std::nextafter(a, 1e9)}) {
      if (angle != 0) worst.look_at(angle, sin_cos(angle));
    }
  }
  EXPECT_LE(worst.sin, 2);
  EXPECT_LE(worst.cos, 2);
}

TEST(SinCos, SignsAndZeros) {
  EXPECT_EQ(sin_cos(0.0).sin, 0);
  EXPECT_EQ(sin_cos(0.0).cos, 1);
  for (const double a : {0.3, 1.9, 3.5, 5.0, -0.3, -1.9, -3.5, -5.0}) {
    EXPECT_NEAR(sin_cos(a).sin, std::sin(a), 3e-16) << a;
    EXPECT_NEAR(sin_cos(a).cos, std::cos(a), 3e-16) << a;
  }
}

TEST(SinCos, SameBitsAsNearZero) {
  for (int i = -100; i <= 100; ++i) {
    const double a = 0.7 * i / 100;
    EXPECT_EQ(sin_cos(a).sin, sin_cos_near_zero(a).sin);
    EXPECT_EQ(sin_cos(a).cos, sin_cos_near_zero(a).cos);
  }
}

TEST(WrappedAngle, EqualsTheModulus) {
  const double pi = std::numbers::pi;
  Rng rng(2, Purpose::test, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    const double a = rng.uniform(-200, 200);
    const double wrapped = wrapped_angle(a);
    EXPECT_NEAR(wrapped, std::remainder(a, 2 * pi), 1e-15) << a;
  }
  EXPECT_EQ(wrapped_angle(1.5), 1.5);
  EXPECT_NEAR(std::abs(wrapped_angle(3 * pi)), pi, 1e-15);
}

TEST(Clamped, KeepsWithinBounds) {
  EXPECT_EQ(clamped(0.5, -1, 1), 0.5);
  EXPECT_EQ(clamped(-1.5, -1, 1), -1);
  EXPECT_EQ(clamped(1.5, -1, 1), 1);
}

}  // namespace
}  // namespace hotloop
