#include "core/schedule.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

// Check 5 of SLM-Lab's specification: linear 1 -> 0.1 over 1000.
TEST(Schedule, LinearWorkedNumbers) {
  const Schedule s = linear(1, 0.1, 1000);
  EXPECT_DOUBLE_EQ(s.at({0, 0}), 1);
  EXPECT_DOUBLE_EQ(s.at({250, 0}), 0.775);
  EXPECT_DOUBLE_EQ(s.at({1000, 0}), 0.1);
  EXPECT_DOUBLE_EQ(s.at({1'000'000, 0}), 0.1);
}

TEST(Schedule, OtherKinds) {
  EXPECT_EQ(constant(0.3).at({12345, 6}), 0.3);
  const Schedule exponential{.kind = ScheduleKind::exponential, .from = 1, .to = 0.01, .over = 100};
  EXPECT_NEAR(exponential.at({50, 0}), 0.1, 1e-12);
  EXPECT_NEAR(exponential.at({200, 0}), 0.01, 1e-12);
  const Schedule cosine{.kind = ScheduleKind::cosine, .from = 1, .to = 0, .over = 100};
  EXPECT_NEAR(cosine.at({50, 0}), 0.5, 1e-12);
  EXPECT_NEAR(cosine.at({25, 0}), 0.8535533906, 1e-9);
  const Schedule to_zero{.kind = ScheduleKind::linear_to_zero, .from = 0.02, .over = 100};
  EXPECT_NEAR(to_zero.at({25, 0}), 0.015, 1e-12);
  EXPECT_EQ(to_zero.at({100, 0}), 0);
}

// SLM-Lab's demo: 0.02 times 0.9 after every 1000 updates, about 5e-6 after 79,744 of them.
TEST(Schedule, StepCountsUpdates) {
  const Schedule step{.kind = ScheduleKind::step,
                      .from = 0.02,
                      .factor = 0.9,
                      .every = 1000,
                      .count = Count::updates};
  EXPECT_DOUBLE_EQ(step.at({5000, 999}), 0.02);
  EXPECT_DOUBLE_EQ(step.at({5000, 1000}), 0.018);
  EXPECT_NEAR(step.at({5000, 79'744}), 4.85e-6, 1e-8);
}

// SLM-Lab's Atari runs: 1 -> 0.01 between frames 10,000 and 1,000,000.
TEST(Schedule, BeginsLate) {
  Schedule epsilon = linear(1, 0.01, 990'000);
  epsilon.after = 10'000;
  EXPECT_EQ(epsilon.at({0, 0}), 1);
  EXPECT_EQ(epsilon.at({10'000, 0}), 1);
  EXPECT_DOUBLE_EQ(epsilon.at({505'000, 0}), 0.505);
  EXPECT_NEAR(epsilon.at({1'000'000, 0}), 0.01, 1e-15);
  const Schedule step{
      .kind = ScheduleKind::step, .from = 1, .factor = 0.5, .every = 10, .after = 5};
  EXPECT_EQ(step.at({14, 0}), 1);
  EXPECT_EQ(step.at({15, 0}), 0.5);
}

// Snake's epsilon falls by half a per cent with each finished episode and reaches its minimum after
// 919 of them (check 9c of its specification).
TEST(Schedule, StepsCountEpisodesAndStopAtTheirFloor) {
  const Schedule epsilon{.kind = ScheduleKind::step,
                         .from = 1,
                         .to = 0.01,
                         .factor = 0.995,
                         .every = 1,
                         .count = Count::episodes};
  EXPECT_EQ(epsilon.at({1000, 1000, 0}), 1);
  EXPECT_DOUBLE_EQ(epsilon.at({0, 0, 2}), 0.995 * 0.995);
  EXPECT_GT(epsilon.at({0, 0, 918}), 0.01);
  EXPECT_EQ(epsilon.at({0, 0, 919}), 0.01);
  EXPECT_EQ(epsilon.at({0, 0, 100'000}), 0.01);
}

}  // namespace
}  // namespace hotloop
