#include "envs/acrobot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/acrobot.hpp"
#include "tests/envs/golden.hpp"

namespace hotloop {
namespace {

using LibraryAcrobot = AcrobotBy<LibraryMaths>;

constexpr auto put = [](auto& world, const std::vector<double>& s, bool) {
  world = {s[0], s[1], s[2], s[3]};
};
constexpr auto get = [](const auto& w) {
  return std::vector<double>{w.theta1, w.theta2, w.dtheta1, w.dtheta2};
};

TEST(Acrobot, EachStepEqualsGymnasium) {
  GoldenReplay{.drifting = false, .state_tolerance = 1e-14}.run<Acrobot>(put, get);
}

// The motion is chaotic: an ulp of difference grows over a whole episode.
TEST(Acrobot, WholeEpisodesFollowGymnasium) {
  GoldenReplay{.drifting = true, .state_tolerance = 1e-11}.run<Acrobot>(put, get);
}

// With the C library's sine there is no difference, if NumPy used the same library.
TEST(Acrobot, WholeEpisodesFollowGymnasiumWithTheLibrarysMaths) {
  GoldenReplay{.drifting = true, .state_tolerance = 1e-11}.run<LibraryAcrobot>(put, get);
}

// From states all over the bounded space, so that angles wrap and speeds are cut.
TEST(Acrobot, EachStepEqualsTheReference) {
  const double pi = std::numbers::pi;
  Rng rng(3, Purpose::test, 0, 0);
  int wrapped = 0, cut = 0, up = 0;
  for (int i = 0; i < 20000; ++i) {
    Acrobot fast{rng.uniform(-pi, pi), rng.uniform(-pi, pi), rng.uniform(-4 * pi, 4 * pi),
                 rng.uniform(-9 * pi, 9 * pi)};
    reference::Acrobot slow{{fast.theta1, fast.theta2, fast.dtheta1, fast.dtheta2}};
    const int action = static_cast<int>(rng.below(3));
    Acrobot free = fast;
    free.integrate(action);
    wrapped += std::abs(free.theta1) > pi || std::abs(free.theta2) > pi;
    cut += std::abs(free.dtheta1) > 4 * pi || std::abs(free.dtheta2) > 9 * pi;

    const Step step = take_step(fast, static_cast<float>(action));
    ASSERT_EQ(step.terminated, slow.step(action));
    ASSERT_EQ(step.reward, step.terminated ? 0.0f : -1.0f);
    up += step.terminated ? 1 : 0;
    const std::vector<double> state = get(fast);
    for (int k = 0; k < 4; ++k) {
      const double apart = state[k] - slow.state[k];
      // An angle of pi may come out as -pi.
      const double distance = k < 2 ? std::remainder(apart, 2 * pi) : apart;
      ASSERT_NEAR(distance, 0, 1e-10) << "state " << k;
    }
  }
  EXPECT_GT(wrapped, 1000);
  EXPECT_GT(cut, 1000);
  EXPECT_GT(up, 1000);
}

TEST(Acrobot, BatchEqualsOneByOne) {
  expect_batch_equals_one_by_one<Acrobot>(400, [](Rng& rng) { return rng.below(3); });
  expect_batch_equals_one_by_one<LibraryAcrobot>(400, [](Rng& rng) { return rng.below(3); });
}

TEST(Acrobot, StartsHangingInSinglePrecision) {
  double widest = 0, sum = 0;
  for (std::uint32_t lane = 0; lane < 5000; ++lane) {
    Rng rng(5, Purpose::test, lane, 0);
    Acrobot world;
    world.reset(rng);
    for (const double value : get(world)) {
      EXPECT_EQ(value, static_cast<float>(value));
      widest = std::max(widest, std::abs(value));
      sum += value;
    }
  }
  EXPECT_LE(widest, 0.1f);
  EXPECT_GT(widest, 0.0999);
  EXPECT_NEAR(sum / 20000, 0, 5 * 0.2 / std::sqrt(12.0 * 20000));
}

}  // namespace
}  // namespace hotloop
