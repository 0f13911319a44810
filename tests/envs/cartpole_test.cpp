#include "envs/cartpole.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "env/batch_env.hpp"
#include "env/registry.hpp"
#include "reference/cartpole.hpp"
#include "tests/envs/golden.hpp"

namespace hotloop {
namespace {

Step push(CartPole& world, int action) {
  Rng unused(0, Purpose::test, 0, 0);
  return world.step(action, unused);
}

// Worked from the equations in double precision: at rest the sine is 0 and the cosine 1, so by hand
// temp = 10 / 1.1, theta_acc = -temp / (0.5 (4/3 - 0.1 / 1.1)) = -14.634146, x_acc = 9.7560976. The
// later numbers are from Gymnasium 1.4.0, CartPole-v1 set to the same states.
TEST(CartPole, PublishedNumbers) {
  CartPole world;
  push(world, 1);
  EXPECT_NEAR(world.x, 0, 0);
  EXPECT_NEAR(world.x_dot, 0.19512195, 5e-9);
  EXPECT_NEAR(world.theta, 0, 0);
  EXPECT_NEAR(world.theta_dot, -0.29268293, 5e-9);
  push(world, 1);
  EXPECT_NEAR(world.x, 0.00390244, 5e-9);
  EXPECT_NEAR(world.x_dot, 0.39024390, 5e-9);
  EXPECT_NEAR(world.theta, -0.00585366, 5e-9);
  EXPECT_NEAR(world.theta_dot, -0.58536585, 5e-9);
  for (int step = 3; step <= 8; ++step) EXPECT_FALSE(push(world, 1).terminated) << step;
  const Step last = push(world, 1);
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(last.reward, 1.0f);
  EXPECT_NEAR(world.theta, -0.21518605, 5e-9);

  CartPole other{.01, -.02, .03, .04};
  for (const int action : {0, 1, 1}) push(other, action);
  EXPECT_NEAR(other.x, 0.00487185, 5e-9);
  EXPECT_NEAR(other.x_dot, 0.17369412, 5e-9);
  EXPECT_NEAR(other.theta, 0.038823539, 5e-10);
  EXPECT_NEAR(other.theta_dot, -0.221391989, 5e-10);
}

TEST(CartPole, EndsJustBeyondTheLimits) {
  const double x = 2.4;
  const double theta = 12 * 3.14159265358979323846 / 180;
  EXPECT_FALSE((CartPole{x, 0, 0, 0}.fallen()));
  EXPECT_FALSE((CartPole{-x, 0, 0, 0}.fallen()));
  EXPECT_TRUE((CartPole{std::nextafter(x, 3), 0, 0, 0}.fallen()));
  EXPECT_TRUE((CartPole{std::nextafter(-x, -3), 0, 0, 0}.fallen()));
  EXPECT_FALSE((CartPole{0, 0, theta - 1e-15, 0}.fallen()));
  EXPECT_FALSE((CartPole{0, 0, -theta + 1e-15, 0}.fallen()));
  EXPECT_TRUE((CartPole{0, 0, theta + 1e-15, 0}.fallen()));
  EXPECT_TRUE((CartPole{0, 0, -theta - 1e-15, 0}.fallen()));
}

TEST(CartPole, FollowsTheReferenceInRandomPlay) {
  int steps = 0;
  for (std::uint32_t episode = 0; episode < 300; ++episode) {
    Rng rng(3, Purpose::test, episode, 0);
    CartPole fast;
    fast.reset(rng);
    reference::CartPole slow{fast.x, fast.x_dot, fast.theta, fast.theta_dot};
    for (bool over = false; !over; ++steps) {
      const int action = static_cast<int>(rng.below(2));
      over = push(fast, action).terminated;
      ASSERT_EQ(slow.step(action), over) << "episode " << episode;
      ASSERT_NEAR(fast.x, slow.x, 1e-12);
      ASSERT_NEAR(fast.x_dot, slow.x_dot, 1e-12);
      ASSERT_NEAR(fast.theta, slow.theta, 1e-12);
      ASSERT_NEAR(fast.theta_dot, slow.theta_dot, 1e-12);
    }
  }
  EXPECT_GT(steps, 4000);
}

TEST(CartPole, BatchEqualsOneByOne) {
  expect_batch_equals_one_by_one<CartPole>(200, [](Rng& rng) { return rng.below(2); });
}

// Gymnasium's own trajectories, from their first state to their last.
TEST(CartPole, FollowsGymnasium) {
  const GoldenReplay replay{.state_tolerance = 1e-15};
  replay.run<CartPole>(
      [](CartPole& w, const std::vector<double>& s, bool) {
        w = {s[0], s[1], s[2], s[3]};
      },
      [](const CartPole& w) {
        return std::vector{w.x, w.x_dot, w.theta, w.theta_dot};
      });
}

TEST(CartPole, StartsWithinTheBox) {
  double low = 1;
  double high = -1;
  double sum = 0;
  for (std::uint32_t lane = 0; lane < 5000; ++lane) {
    Rng rng(5, Purpose::test, lane, 0);
    CartPole world;
    world.reset(rng);
    for (const double value : {world.x, world.x_dot, world.theta, world.theta_dot}) {
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
  }
  EXPECT_GE(low, -0.05);
  EXPECT_LE(high, 0.05);
  EXPECT_LT(low, -0.0499);
  EXPECT_GT(high, 0.0499);
  EXPECT_NEAR(sum / 20000, 0, 5 * 0.1 / std::sqrt(12.0 * 20000));
}

// A controller that balances: the episode is truncated at 500 steps with return 500, not
// terminated.
TEST(CartPole, BalancedPoleIsTruncatedAt500) {
  const int count = 8;
  BatchEnv env(find_env("cartpole").make(count), count, 6, Purpose::test);
  ThreadTeam team(1);
  std::vector<std::int32_t> actions(count);
  for (int t = 1; t <= 500; ++t) {
    for (int row = 0; row < count; ++row) {
      const auto s = env.obs().subspan(static_cast<std::size_t>(row) * 4, 4);
      actions[row] = 0.1f * s[0] + 0.3f * s[1] + 3 * s[2] + s[3] > 0 ? 1 : 0;
    }
    env.step(actions, team);
    ASSERT_EQ(env.finished().empty(), t < 500) << "step " << t;
  }
  ASSERT_EQ(env.finished().size(), 8u);
  for (int row = 0; row < count; ++row) {
    EXPECT_EQ(env.truncated()[row], 1);
    EXPECT_EQ(env.terminated()[row], 0);
    EXPECT_EQ(env.finished()[row].length, 500);
    EXPECT_EQ(env.finished()[row].total_return, 500);
  }
}

// Random play lasts 22 steps on average in every implementation.
TEST(CartPole, RandomPlayLastsAboutTwentyTwoSteps) {
  const int count = 200;
  BatchEnv env(find_env("cartpole").make(count), count, 7, Purpose::test);
  ThreadTeam team(1);
  std::vector<std::int32_t> actions(count);
  double episodes = 0;
  for (std::uint64_t t = 0; t < 1000; ++t) {
    Rng rng(7, Purpose::exploration, 0, t);
    for (auto& action : actions) action = static_cast<std::int32_t>(rng.below(2));
    env.step(actions, team);
    episodes += static_cast<double>(env.finished().size());
  }
  EXPECT_NEAR(200 * 1000 / episodes, 22.2, 1.0);
}

}  // namespace
}  // namespace hotloop
