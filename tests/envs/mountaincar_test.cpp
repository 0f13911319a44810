#include "envs/mountaincar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/mountaincar.hpp"
#include "tests/envs/golden.hpp"

namespace hotloop {
namespace {

TEST(MountainCar, FollowsGymnasium) {
  const GoldenReplay replay{.state_tolerance = 1e-15};
  replay.run<MountainCar>(
      [](MountainCar& w, const std::vector<double>& s, bool) {
        w = {s[0], s[1]};
      },
      [](const MountainCar& w) {
        return std::vector{w.position, w.velocity};
      });
}

// Every other episode swings the car, which reaches walls, speed limit and goal.
TEST(MountainCar, FollowsTheReference) {
  int arrivals = 0;
  for (std::uint32_t episode = 0; episode < 100; ++episode) {
    Rng rng(3, Purpose::test, episode, 0);
    MountainCar fast;
    fast.reset(rng);
    reference::MountainCar slow{fast.position, fast.velocity};
    bool over = false;
    for (int t = 0; t < 200 && !over; ++t) {
      const int rocked = fast.velocity >= 0 ? 2 : 0;
      const int action = episode % 2 == 0 ? rocked : static_cast<int>(rng.below(3));
      over = take_step(fast, static_cast<float>(action)).terminated;
      ASSERT_EQ(slow.step(action), over) << "episode " << episode;
      ASSERT_NEAR(fast.position, slow.position, 1e-13);
      ASSERT_NEAR(fast.velocity, slow.velocity, 1e-13);
    }
    arrivals += over ? 1 : 0;
  }
  EXPECT_GE(arrivals, 45);
}

TEST(MountainCar, BatchEqualsOneByOne) {
  expect_batch_equals_one_by_one<MountainCar>(400, [](Rng& rng) { return rng.below(3); });
}

TEST(MountainCar, StartsAtRestInTheValley) {
  double low = 0, high = -1, sum = 0;
  for (std::uint32_t lane = 0; lane < 5000; ++lane) {
    Rng rng(5, Purpose::test, lane, 0);
    MountainCar world;
    world.reset(rng);
    EXPECT_EQ(world.velocity, 0);
    low = std::min(low, world.position);
    high = std::max(high, world.position);
    sum += world.position;
  }
  EXPECT_GE(low, -0.6);
  EXPECT_LE(high, -0.4);
  EXPECT_LT(low, -0.599);
  EXPECT_GT(high, -0.401);
  EXPECT_NEAR(sum / 5000, -0.5, 5 * 0.2 / std::sqrt(12.0 * 5000));
}

TEST(MountainCar, ArrivesOnlyWithoutRollingBack) {
  EXPECT_TRUE((MountainCar{0.5, 0}.arrived()));
  EXPECT_FALSE((MountainCar{0.5, -1e-9}.arrived()));
  EXPECT_FALSE((MountainCar{std::nextafter(0.5, 0), 0.07}.arrived()));
}

}  // namespace
}  // namespace hotloop
