// The squashed Gaussian of the slow twins: numbers from mpmath, finite differences, and its
// integral.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/continuous.hpp"

namespace hotloop {
namespace {

using reference::Squashed;

// From mpmath 1.4 with 60 digits, as -eps^2 / 2 - l - log(2 pi) / 2 - log(1 - tanh(u)^2), and
// 1 - tanh(u)^2 itself.
struct Known {
  double m, l, eps, u, log_p, slope;
};
constexpr Known kKnown[] = {
    {0, 0, 0, 0, -0.918938533204672742, 1},
    {1, 0, 2, 3, 1.69971847595089754, 0.00986603716544019},
    {-1, 0, -2, -3, 1.69971847595089754, 0.00986603716544019},
    {18, 0, 2, 20, 35.6947671056754366, 1.69934170211664e-17},
    {-18, 0, -2, -20, 35.6947671056754366, 1.69934170211664e-17},
    {0, -1, 0.5, 0.1839397205857212, -0.0102937964332139152, 0.966914952954527},
    {0.5, 0.5, -1.5, -1.973081906050192, 0.0542194807892714586, 0.0744105151852986},
    {2.5, -20, 1.5, 2.5000000030917304, 21.5831978087543637, 0.0265922265209297},
};

TEST(SquashedTwin, LogProbabilityEqualsMpmath) {
  for (const Known& k : kKnown) {
    const Squashed x(k.m, k.l, k.eps);
    EXPECT_NEAR(x.u, k.u, 1e-9);
    EXPECT_NEAR(x.log_probability(), k.log_p, 1e-14 * (1 + std::abs(k.log_p))) << k.u;
    EXPECT_NEAR(x.slope() / k.slope, 1, 1e-13) << k.u;
  }
}

// The density of a = tanh(u) integrates to 1 over (-1, 1); midpoints of 20,000 intervals.
TEST(SquashedTwin, DensityIntegratesToOne) {
  for (const auto& [m, l] : {std::pair{0.0, -0.5}, {0.7, -1.0}, {-0.3, -0.2}}) {
    constexpr int kIntervals = 20000;
    double sum = 0;
    for (int i = 0; i < kIntervals; ++i) {
      const double a = -1 + (2 * i + 1.0) / kIntervals;
      const Squashed x(m, l, (std::atanh(a) - m) / std::exp(l));
      sum += std::exp(x.log_probability()) * 2 / kIntervals;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

// L = 0.7 a - 0.4 log p, with eps fixed.
double some_loss(double m, double l, double eps) {
  const Squashed x(m, l, eps);
  return 0.7 * x.a - 0.4 * x.log_probability();
}

TEST(SquashedTwin, DerivativesEqualFiniteDifferences) {
  for (const double m : {-2.5, -0.3, 0.0, 1.1, 6.0}) {
    for (const double l : {-6.0, -1.0, 0.3, 1.5}) {
      for (const double eps : {-1.7, 0.0, 0.6}) {
        const Squashed x(m, l, eps);
        const double h = 1e-6;
        const double by_m = (some_loss(m + h, l, eps) - some_loss(m - h, l, eps)) / (2 * h);
        const double by_l = (some_loss(m, l + h, eps) - some_loss(m, l - h, eps)) / (2 * h);
        EXPECT_NEAR(x.d_mean(0.7, -0.4), by_m, 1e-8);
        EXPECT_NEAR(x.d_log_std(0.7, -0.4), by_l, 1e-8);
      }
    }
  }
}

TEST(SquashedTwin, ClampedLogStdsHaveNoGradient) {
  for (const double l : {-21.0, 2.1, 50.0}) {
    const Squashed x(0.2, l, 0.5);
    EXPECT_EQ(x.l, l < 0 ? -20 : 2);
    EXPECT_EQ(x.d_log_std(0.7, -0.4), 0);
    EXPECT_NE(x.d_mean(0.7, -0.4), 0);
  }
  EXPECT_NE(Squashed(0.2, 1.9, 0.5).d_log_std(0.7, -0.4), 0);
}

}  // namespace
}  // namespace hotloop
