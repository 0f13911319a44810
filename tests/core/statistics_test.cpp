#include "core/statistics.hpp"

#include <gtest/gtest.h>
#include <hotloop/rng.hpp>

#include <cmath>

#include "train/progress.hpp"

namespace hotloop {
namespace {

TEST(Summary, LeavesOutUndefinedValues) {
  const std::vector<double> values = {3, kNone, 1, 2, kNone};
  const Summary s = summarise(values);
  EXPECT_EQ(s.count, 3);
  EXPECT_EQ(s.mean, 2);
  EXPECT_DOUBLE_EQ(s.std, std::sqrt(2.0 / 3));
  EXPECT_EQ(s.largest, 3);
  EXPECT_EQ(summarise(std::vector<double>{-3, -1}).largest, -1);
}

TEST(Summary, NoValueOrOneValue) {
  for (const std::vector<double>& nothing : {std::vector<double>{}, std::vector<double>{kNone}}) {
    const Summary s = summarise(nothing);
    EXPECT_EQ(s.count, 0);
    for (const double value : {s.mean, s.std, s.low, s.high, s.largest}) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
  const Summary one = summarise(std::vector<double>{kNone, 0.1});
  EXPECT_EQ(one.count, 1);
  for (const double value : {one.mean, one.low, one.high, one.largest}) EXPECT_EQ(value, 0.1);
  EXPECT_EQ(one.std, 0);
  // Equal values have no interval, although seven times 0.1 is not 0.7 in floating point.
  const Summary equal = summarise(std::vector<double>(7, 0.1));
  EXPECT_EQ(equal.low, 0.1);
  EXPECT_EQ(equal.high, 0.1);
}

// By hand: means of resamples of n values that are half 0, half 1 are binomial(n, 1/2) / n. n = 2:
// P(0) = 1/4, so the ends are 0 and 1. n = 10: P(X <= 1) = 0.011 < 0.025 < 0.055 = P(X <= 2), so
// 0.2 and 0.8. n = 8: P(X <= 0) = 0.004 < 0.025 < 0.035 = P(X <= 1), so 1/8 and 7/8; a 90 %
// interval would be narrower.
TEST(Summary, IntervalOfHalves) {
  const Summary two = summarise(std::vector<double>{0, 1});
  EXPECT_EQ(two.low, 0);
  EXPECT_EQ(two.high, 1);
  const std::vector<double> values = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  const Summary ten = summarise(values);
  EXPECT_DOUBLE_EQ(ten.low, 0.2);
  EXPECT_DOUBLE_EQ(ten.high, 0.8);
  const Summary eight = summarise(std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_EQ(eight.low, 0.125);
  EXPECT_EQ(eight.high, 0.875);
}

TEST(Summary, TheSameNumbersGiveTheSameInterval) {
  std::vector<double> values;
  Rng rng(3, Purpose::test, 0, 0);
  for (int i = 0; i < 25; ++i) values.push_back(rng.normal());
  const Summary once = summarise(values), again = summarise(values);
  EXPECT_EQ(once.low, again.low);
  EXPECT_EQ(once.high, again.high);
  EXPECT_LT(once.low, once.mean);
  EXPECT_GT(once.high, once.mean);
}

// The interval holds the true mean in about 95 % of all samples.
TEST(Summary, IntervalCoversTheTrueMean) {
  constexpr int kSamples = 600, kValues = 30;
  int covered = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    Rng rng(7, Purpose::test, static_cast<std::uint32_t>(sample), 0);
    std::vector<double> values;
    for (int i = 0; i < kValues; ++i) values.push_back(5 + 2 * rng.normal());
    const Summary s = summarise(values);
    covered += s.low <= 5 && 5 <= s.high;
  }
  EXPECT_GE(covered, kSamples * 90 / 100);
  EXPECT_LE(covered, kSamples * 99 / 100);
}

TEST(Quantile, IsInterpolated) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({10, 20}, 0.25), 12.5);
  EXPECT_EQ(quantile({5, 1}, 0), 1);
  EXPECT_EQ(quantile({5, 1}, 1), 5);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace
}  // namespace hotloop
