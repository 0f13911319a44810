#include "algo/common/continuous/action_range.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "algo/common/continuous/tanh_head.hpp"
#include "algo/common/policy.hpp"
#include "env/batch_env.hpp"

namespace hotloop {
namespace {

EnvSpec env() {
  EnvSpec spec{.name = "test_range", .obs = 1, .action_size = 2};
  spec.action_low = {-1, 10};
  spec.action_high = {3, 30};
  return spec;
}

TEST(ActionRange, MapsBothWays) {
  const ActionRange range(env());
  std::array<float, 2> action;
  const auto to_env = [&](float a, float b) {
    const std::array<float, 2> inside = {a, b};
    range.to_env(inside.data(), 1, action.data());
  };
  to_env(0, 0);
  EXPECT_EQ(action, (std::array<float, 2>{1, 20}));
  to_env(-1, 1);
  EXPECT_EQ(action, (std::array<float, 2>{-1, 30}));
  to_env(0.5f, -0.25f);
  EXPECT_EQ(action, (std::array<float, 2>{2, 17.5f}));
  to_env(2, -2);  // never beyond the bounds
  EXPECT_EQ(action, (std::array<float, 2>{3, 10}));

  const std::array<float, 4> rows = {2, 17.5f, -1, 40};
  std::array<float, 4> a;
  range.from_env(rows, a);
  EXPECT_EQ(a, (std::array<float, 4>{0.5f, -0.25f, -1, 1}));
}

// Outputs [m | l] of one row: the greedy action is tanh(m) in the environment's units, a sample is
// something else and within the bounds.
TEST(TanhHead, ChoosesTheMeanOrASample) {
  const TanhHead head(ActionRange(env()), true);
  alignas(64) std::array<float, 4 * kLanes> outputs{}, scratch{};
  outputs[0] = 0.5f;           // m of the first dimension
  outputs[kLanes] = -2;        // and of the second
  outputs[2 * kLanes] = 100;   // l, clamped to 2
  outputs[3 * kLanes] = -100;  // clamped to -20: hardly any noise
  const PolicyLanes lanes{.outputs = outputs.data(), .width = 8, .rows = 1};
  const float* preferences = head.compute_preferences(lanes, scratch.data());
  EXPECT_EQ(preferences[2 * kLanes], 2);
  EXPECT_EQ(preferences[3 * kLanes], -20);
  Actions actions(env(), 1);
  head.choose(lanes, preferences, 0, nullptr, actions);
  EXPECT_NEAR(actions.continuous[0], 1 + 2 * std::tanh(0.5), 1e-6);
  EXPECT_NEAR(actions.continuous[1], 20 + 10 * std::tanh(-2), 1e-5);
  const float greedy = actions.continuous[0];
  const Draws draws{.seed = 1, .step = 7};
  head.choose(lanes, preferences, 0, &draws, actions);
  EXPECT_NE(actions.continuous[0], greedy);
  EXPECT_GE(actions.continuous[0], -1);
  EXPECT_LE(actions.continuous[0], 3);
  EXPECT_NEAR(actions.continuous[1], 20 + 10 * std::tanh(-2), 1e-5);
}

}  // namespace
}  // namespace hotloop
