#include "envs/mountaincar_continuous.hpp"

#include <gtest/gtest.h>

#include "reference/mountaincar_continuous.hpp"
#include "tests/envs/golden.hpp"

namespace hotloop {
namespace {

// Actions far beyond the bounds, and one in four exactly at a bound.
float draw_force(Rng& rng) {
  const std::uint32_t which = rng.below(8);
  if (which < 2) return which == 0 ? -1.0f : 1.0f;
  return static_cast<float>(rng.uniform(-2, 2));
}

// The original rounds to float32 on every step: the states are equal to the bit.
TEST(MountainCarContinuous, EqualsGymnasium) {
  const GoldenReplay replay{.state_tolerance = 0};
  replay.run<MountainCarContinuous>(
      [](MountainCarContinuous& w, const std::vector<double>& s, bool after_step) {
        w = {s[0], s[1], after_step ? 0 : 1};
      },
      [](const MountainCarContinuous& w) {
        return std::vector{w.position, w.velocity};
      });
}

// A cosine that is off by an ulp changes the float32 about once in 2^29 steps, which does not
// happen here.
TEST(MountainCarContinuous, EqualsTheReference) {
  int arrivals = 0;
  for (std::uint32_t episode = 0; episode < 100; ++episode) {
    Rng rng(3, Purpose::test, episode, 0);
    MountainCarContinuous fast;
    fast.reset(rng);
    reference::MountainCarContinuous slow{fast.position, fast.velocity};
    bool over = false;
    for (int t = 0; t < 300 && !over; ++t) {
      const float rocked = fast.velocity >= 0 ? 0.9f : -0.9f;
      const float action = episode % 2 == 0 ? rocked : draw_force(rng);
      const Step step = take_step(fast, action);
      over = step.terminated;
      ASSERT_EQ(slow.step(action), over) << "episode " << episode;
      ASSERT_EQ(fast.position, slow.position) << "episode " << episode << ", step " << t;
      ASSERT_EQ(fast.velocity, slow.velocity) << "episode " << episode << ", step " << t;
      ASSERT_EQ(step.reward, static_cast<float>(slow.reward));
    }
    arrivals += over ? 1 : 0;
  }
  EXPECT_GE(arrivals, 45);
}

TEST(MountainCarContinuous, BatchEqualsOneByOne) {
  expect_batch_equals_one_by_one<MountainCarContinuous>(400, draw_force);
}

TEST(MountainCarContinuous, EffortUsesTheUnclippedAction) {
  EXPECT_EQ(MountainCarContinuous::reward(0.5f, false), -0.025f);
  EXPECT_EQ(MountainCarContinuous::reward(-3.0f, false), -0.9f);
  EXPECT_EQ(MountainCarContinuous::reward(1.0f, true), 99.9f);
}

}  // namespace
}  // namespace hotloop
