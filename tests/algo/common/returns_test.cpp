#include "algo/common/returns.hpp"

#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <numeric>
#include <vector>

#include "reference/gae.hpp"

namespace hotloop {
namespace {

// §18.7 of the durotaxis specification.
TEST(Gae, WorkedExample) {
  const std::vector<float> rewards = {1, 0, 2}, values = {0.5f, 0.4f, 0.3f};
  const std::vector<std::uint8_t> terminated = {0, 0, 1}, truncated = {0, 0, 0};
  const std::vector<float> next = {0.4f, 0.3f, 99};
  std::vector<float> returns(3), advantages(3);
  lambda_returns(3, 1, 0.99, 0.95, rewards, 1, terminated, truncated, next, returns);
  for (int t = 0; t < 3; ++t) advantages[t] = returns[t] - values[t];
  const std::array<double, 3> a = {2.302847, 1.495850, 1.7}, g = {2.802847, 1.895850, 2.0};
  for (int t = 0; t < 3; ++t) {
    EXPECT_NEAR(advantages[t], a[t], 1e-6);
    EXPECT_NEAR(returns[t], g[t], 1e-6);
  }
  std::vector<float> by_episode = advantages;
  standardise_episodes(3, 1, terminated, truncated, by_episode);
  standardise(advantages);
  const std::array<double, 3> normal = {1.371728, -0.983810, -0.387918};
  for (int t = 0; t < 3; ++t) {
    EXPECT_NEAR(advantages[t], normal[t], 1e-5);
    EXPECT_EQ(by_episode[t], advantages[t]);
  }
}

TEST(Gae, EqualsTheListBasedTwin) {
  Rng rng(1, Purpose::test, 0, 0);
  for (int trial = 0; trial < 50; ++trial) {
    const int steps = 1 + static_cast<int>(rng.below(40)),
              lanes = 1 + static_cast<int>(rng.below(9));
    const std::size_t count = static_cast<std::size_t>(steps) * lanes;
    const double gamma = rng.uniform(), lambda = trial % 5 == 0 ? 1 : rng.uniform();
    std::vector<float> rewards(count), values(count), next(count), returns(count);
    std::vector<std::uint8_t> terminated(count), truncated(count);
    for (std::size_t i = 0; i < count; ++i) {
      rewards[i] = static_cast<float>(rng.normal());
      values[i] = static_cast<float>(rng.normal());
      terminated[i] = rng.below(8) == 0;
      truncated[i] = terminated[i] == 0 && rng.below(8) == 0;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_next = i + lanes < count && truncated[i] == 0;
      next[i] = has_next ? values[i + lanes] : static_cast<float>(rng.normal());
    }
    lambda_returns(steps, lanes, gamma, lambda, rewards, 0.5f, terminated, truncated, next,
                   returns);
    for (int lane = 0; lane < lanes; ++lane) {
      std::vector<reference::GaeStep> list;
      for (std::size_t i = lane; i < count; i += lanes)
        list.push_back(
            {0.5 * rewards[i], values[i], next[i], terminated[i] != 0, truncated[i] != 0});
      const std::vector<double> advantages = reference::gae(list, gamma, lambda);
      for (int t = 0; t < steps; ++t) {
        const std::size_t i = static_cast<std::size_t>(t) * lanes + lane;
        EXPECT_NEAR(returns[i] - values[i], advantages[t], 1e-5);
      }
    }
  }
}

TEST(Standardise, EachEpisodeByItself) {
  // Two lanes: episodes of 1 and 3 steps; a truncated one of 2, and 2 steps until the rollout ends.
  std::vector<float> values = {5, 1, 1, 3, 2, 10, 3, 30};
  const std::vector<std::uint8_t> terminated = {1, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<std::uint8_t> truncated = {0, 0, 0, 1, 0, 0, 0, 0};
  standardise_episodes(4, 2, terminated, truncated, values);
  EXPECT_EQ(values[0], 0) << "one step alone";
  EXPECT_NEAR(values[2], -1.224745, 1e-6);
  EXPECT_NEAR(values[4], 0, 1e-6);
  EXPECT_NEAR(values[6], 1.224745, 1e-6);
  EXPECT_NEAR(values[1], -1, 1e-6);
  EXPECT_NEAR(values[3], 1, 1e-6);
  EXPECT_NEAR(values[5], -1, 1e-6);
  EXPECT_NEAR(values[7], 1, 1e-6);
}

TEST(Standardise, WhatDoesNotVaryBecomesZero) {
  std::vector<float> values(7, 3.25f);
  standardise(values);
  EXPECT_EQ(values, std::vector<float>(7, 0.0f));
}

}  // namespace
}  // namespace hotloop
