#include "doctor/contest.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doctor/remedy.hpp"

namespace hotloop {
namespace {

constexpr char kSpec[] = R"(
env: {name: cartpole, count: 4}
algo: {name: dqn, learning_starts: 100, batch: 32, train_every: 8, updates_per_step: 0.25}
replay: {capacity: 2000}
net: {hidden: [16]}
evaluation: {every: 0, episodes: 2}
run: {steps: 20000, log_every: 1000}
)";

TrainSpec spec_with(const std::vector<std::string>& overrides) {
  return load_spec_text(kSpec, "contest.yaml", overrides);
}

// By hand: A takes 2 s and 4 s for 10 and 20 steps, B 1 s and 2 s. Every resample gives 2, so the
// interval is only the 1.5 % for differences between processes.
TEST(Contest, EqualRatiosHaveNoSpread) {
  Speed speed;
  estimate_ratio({{{2, 1, 10, 10}, {4, 2, 20, 20}}, {{2, 1, 10, 10}}}, speed);
  EXPECT_DOUBLE_EQ(speed.ratio, 2);
  EXPECT_NEAR(speed.low, 2 * 0.985, 1e-12);
  EXPECT_NEAR(speed.high, 2 * 1.015, 1e-12);
  EXPECT_DOUBLE_EQ(speed.steps_per_second_a, 5);
  EXPECT_DOUBLE_EQ(speed.steps_per_second_b, 10);
}

// By hand: overall (3 + 1) / 20 over (1 + 1) / 20 = 2, resampled between 1 and 3, which is 50 % to
// either side.
TEST(Contest, TheIntervalSpansTheDifferencesBetweenSessions) {
  Speed speed;
  estimate_ratio({{{3, 1, 10, 10}}, {{1, 1, 10, 10}}}, speed);
  EXPECT_DOUBLE_EQ(speed.ratio, 2);
  EXPECT_NEAR(speed.low, 2 * (1 - std::hypot(0.5, 0.015)), 1e-12);
  EXPECT_NEAR(speed.high, 2 * (1 + std::hypot(0.5, 0.015)), 1e-12);
}

TEST(Contest, TheSameSpecIsAsFastAndTrainsTheSame) {
  const TrainSpec spec = spec_with({});
  Speed speed;
  // Another program may disturb one of the two.
  for (int attempt = 0; attempt < 3 && !(speed.ratio > 0.7 && speed.ratio < 1.4); ++attempt) {
    speed = compare_speed(spec, spec, true, 1, nullptr);
    EXPECT_GT(speed.turns, 8);
    EXPECT_TRUE(speed.same_parameters);
  }
  EXPECT_GT(speed.ratio, 0.7);
  EXPECT_LT(speed.ratio, 1.4);
}

TEST(Contest, LoggingEveryStepIsSlowerAndTrainsTheSame) {
  const Speed speed =
      compare_speed(spec_with({"run.log_every=1"}), spec_with({}), true, 1, nullptr);
  EXPECT_GT(speed.low, 1.2);
  EXPECT_TRUE(speed.same_parameters);
  EXPECT_GT(share_of(speed.phases_a, {"log"}), 0.5);
}

TEST(Contest, AnotherAlgorithmIsNoticed) {
  const Speed speed =
      compare_speed(spec_with({}), spec_with({"algo.updates_per_step=2"}), false, 1, nullptr);
  EXPECT_LT(speed.high, 1);
  EXPECT_FALSE(speed.same_parameters);
  EXPECT_NEAR(speed.updates_per_second_b / speed.steps_per_second_b, 2, 0.1);
}

// Two worlds that count their steps and stop the contest in its second turn, the first turn in
// which B comes before A.
struct Counted {
  static inline std::atomic<bool> stop = false;
  static inline std::int64_t steps_a = 0, steps_b = 0;
  float x = 0;
  void reset(Rng& rng) { x = static_cast<float>(rng.uniform()); }
  void observe(std::span<float> obs) const { obs[0] = x; }
  Step count(std::int64_t& steps, Rng& rng) {
    ++steps;
    if (steps_b > steps_a) stop = true;
    x = static_cast<float>(rng.uniform());
    return {x, rng.below(32) == 0};
  }
};
struct CountedA : Counted {
  static constexpr auto spec = EnvSpec{.name = "test_counted_a", .obs = 1, .actions = 2};
  Step step(int, Rng& rng) { return count(steps_a, rng); }
};
HOTLOOP_ENV(CountedA)
struct CountedB : Counted {
  static constexpr auto spec = EnvSpec{.name = "test_counted_b", .obs = 1, .actions = 2};
  Step step(int, Rng& rng) { return count(steps_b, rng); }
};
HOTLOOP_ENV(CountedB)

TEST(Contest, BothTakeTheSameStepsWhicheverIsFirst) {
  Counted::stop = false;
  Counted::steps_a = Counted::steps_b = 0;
  const auto counted = [](const std::string& name) {
    return spec_with({"env.name=" + name, "run.steps=100000000", "run.threads=1"});
  };
  const Speed speed =
      compare_speed(counted("test_counted_a"), counted("test_counted_b"), false, 5, &Counted::stop);
  EXPECT_GE(speed.turns, 2);
  EXPECT_GT(Counted::steps_a, 200);
  EXPECT_EQ(Counted::steps_a, Counted::steps_b);
}

TEST(Contest, NothingIsMeasuredOnceStopped) {
  const std::atomic<bool> stop{true};
  EXPECT_EQ(compare_speed(spec_with({}), spec_with({}), true, 1, &stop).turns, 0);
}

}  // namespace
}  // namespace hotloop
