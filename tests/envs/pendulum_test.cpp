#include "envs/pendulum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "env/batch_env.hpp"
#include "env/registry.hpp"
#include "reference/pendulum.hpp"
#include "tests/envs/golden.hpp"

namespace hotloop {
namespace {

// Also beyond the bounds on both sides.
float draw_torque(Rng& rng) { return static_cast<float>(rng.uniform(-3, 3)); }

TEST(Pendulum, FollowsGymnasium) {
  const GoldenReplay replay{.state_tolerance = 1e-14};
  replay.run<Pendulum>(
      [](Pendulum& w, const std::vector<double>& s, bool) {
        w = {s[0], s[1]};
      },
      [](const Pendulum& w) {
        return std::vector{w.angle, w.speed};
      });
}

TEST(Pendulum, FollowsTheReference) {
  for (std::uint32_t episode = 0; episode < 100; ++episode) {
    Rng rng(3, Purpose::test, episode, 0);
    Pendulum fast;
    fast.reset(rng);
    reference::Pendulum slow{fast.angle, fast.speed};
    for (int t = 0; t < 200; ++t) {
      const float action = episode % 4 == 0 ? 2.0f : draw_torque(rng);
      const double reward = fast.advance(action);
      ASSERT_NEAR(reward, slow.step(action), 1e-13) << "episode " << episode << ", step " << t;
      ASSERT_NEAR(fast.angle, slow.angle, 1e-13);
      ASSERT_NEAR(fast.speed, slow.speed, 1e-13);
      slow = {fast.angle, fast.speed};  // the upright position is unstable: do not drift apart
    }
  }
}

TEST(Pendulum, BatchEqualsOneByOne) { expect_batch_equals_one_by_one<Pendulum>(400, draw_torque); }

TEST(Pendulum, StartsAnywhereAndSlowly) {
  double widest = 0, fastest = 0, angles = 0;
  for (std::uint32_t lane = 0; lane < 5000; ++lane) {
    Rng rng(5, Purpose::test, lane, 0);
    Pendulum world;
    world.reset(rng);
    widest = std::max(widest, std::abs(world.angle));
    fastest = std::max(fastest, std::abs(world.speed));
    angles += world.angle;
  }
  EXPECT_LE(widest, std::numbers::pi);
  EXPECT_GT(widest, std::numbers::pi - 0.01);
  EXPECT_LE(fastest, 1);
  EXPECT_GT(fastest, 0.999);
  EXPECT_NEAR(angles / 5000, 0, 5 * 2 * std::numbers::pi / std::sqrt(12.0 * 5000));
}

// Through the engine: never terminated, truncated after 200 steps.
TEST(Pendulum, TruncatedAt200) {
  const int count = 5;
  BatchEnv env(find_env("pendulum").make(count), count, 6, Purpose::test);
  ThreadTeam team(1);
  const std::vector<float> actions(count, 0.5f);
  for (int t = 1; t <= 200; ++t) {
    env.step(actions, team);
    ASSERT_EQ(env.finished().empty(), t < 200) << "step " << t;
  }
  ASSERT_EQ(env.finished().size(), 5u);
  for (int row = 0; row < count; ++row) {
    EXPECT_EQ(env.truncated()[row], 1);
    EXPECT_EQ(env.terminated()[row], 0);
    EXPECT_LT(env.finished()[row].total_return, 0);
  }
}

}  // namespace
}  // namespace hotloop
