#include "algo/common/normaliser.hpp"

#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <cmath>
#include <vector>

namespace hotloop {
namespace {

// By hand: feature 0 is 1, 3, 5, 7 (mean 4, variance 5), feature 1 always 2.
TEST(ObsNormaliser, ByHand) {
  ObsNormaliser n(2);
  EXPECT_EQ(n.factor()[0], 1.0f);
  n.add(std::vector<float>{1, 2, 3, 2});
  n.add(std::vector<float>{5, 2});
  n.add(std::vector<float>{7, 2});
  EXPECT_NEAR(n.mean()[0], 4, 1e-6);
  EXPECT_NEAR(n.factor()[0], 1 / std::sqrt(5.0), 1e-6);
  EXPECT_NEAR(n.mean()[1], 2, 1e-6);
}

// Mean and std are those of all rows together, however rows are grouped into vector steps.
TEST(ObsNormaliser, EqualsTheTwoPassStatistics) {
  Rng rng(1, Purpose::test, 0, 0);
  ObsNormaliser n(3);
  std::vector<std::vector<double>> seen(3);
  for (int step = 0; step < 200; ++step) {
    std::vector<float> rows;
    for (std::uint32_t i = 0; i < 1 + rng.below(5); ++i) {
      for (int f = 0; f < 3; ++f) {
        rows.push_back(static_cast<float>(1000 * f + rng.normal() * (f + 1)));
        seen[f].push_back(rows.back());
      }
    }
    n.add(rows);
  }
  for (int f = 0; f < 3; ++f) {
    double mean = 0, variance = 0;
    for (double x : seen[f]) mean += x / static_cast<double>(seen[f].size());
    for (double x : seen[f])
      variance += (x - mean) * (x - mean) / static_cast<double>(seen[f].size());
    EXPECT_NEAR(n.mean()[f], mean, 1e-6 * (1 + std::abs(mean)));
    EXPECT_NEAR(n.factor()[f], 1 / std::sqrt(variance), 1e-5);
  }
}

// By hand: gamma .5, one environment, rewards 1, 1, end, 2: returns 1, 1.5, 2 (the end clears).
// Both kinds of ending restart the return.
TEST(RewardNormaliser, ByHand) {
  const std::vector<std::uint8_t> no = {0}, yes = {1};
  for (const bool cut : {false, true}) {
    RewardNormaliser n(1, 0.5);
    n.add(std::vector<float>{1}, no, no);
    EXPECT_EQ(n.factor(), 1.0f) << "nothing varies yet";
    n.add(std::vector<float>{1}, cut ? no : yes, cut ? yes : no);
    n.add(std::vector<float>{2}, no, no);
    const double mean = (1 + 1.5 + 2) / 3;
    const double variance =
        (std::pow(1 - mean, 2) + std::pow(1.5 - mean, 2) + std::pow(2 - mean, 2)) / 3;
    EXPECT_NEAR(n.factor(), 1 / std::sqrt(variance), 1e-5);
  }
}

}  // namespace
}  // namespace hotloop
