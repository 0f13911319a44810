#include "doctor/learning_check.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

// A run whose return is 0 until `reached` seconds and 100 afterwards; 10 updates per second.
ShortRun learns_at(double reached, double most = 100) {
  return {{0, 0, 0}, {reached, 10 * reached, most}, {10, 100, most}};
}

// By hand: 0 for 2 s, 10 for 3 s, 20 for the other 5 s: (30 + 100) / 10.
TEST(LearningCheck, TheMeanHoldsEachValueUntilTheNext) {
  const ShortRun run = {{0, 0, 0}, {2, 40, 10}, {5, 50, 20}};
  EXPECT_DOUBLE_EQ(mean_over_seconds(run, 10), 13);
  EXPECT_DOUBLE_EQ(mean_over_seconds(run, 4), 5);
  EXPECT_DOUBLE_EQ(mean_over_updates(run, 50), 2);  // 10 from 40 to 50
}

TEST(LearningCheck, SoonerIsBetterPerSecond) {
  const LearningEffect e = compare_learning({learns_at(6), learns_at(7), learns_at(6.5)},
                                            {learns_at(2), learns_at(3), learns_at(2.4)}, 10);
  EXPECT_EQ(e.per_second, Effect::better);
  EXPECT_EQ(e.seeds, 3);
  EXPECT_NEAR(e.difference, (40 + 40 + 41) / 3.0, 1e-9);
  EXPECT_GT(e.low, 0);
}

TEST(LearningCheck, LaterIsWorse) {
  const LearningEffect e = compare_learning({learns_at(2), learns_at(3), learns_at(2.4)},
                                            {learns_at(6), learns_at(7), learns_at(6.5)}, 10);
  EXPECT_EQ(e.per_second, Effect::worse);
  EXPECT_LT(e.high, 0);
}

TEST(LearningCheck, SmallDifferencesAreTheSame) {
  const LearningEffect e = compare_learning({learns_at(2), learns_at(3), learns_at(4)},
                                            {learns_at(2.1), learns_at(2.95), learns_at(4.05)}, 10);
  EXPECT_EQ(e.per_second, Effect::same);
}

TEST(LearningCheck, SeedsThatDisagreeShowNothing) {
  const LearningEffect e = compare_learning({learns_at(2), learns_at(8), learns_at(5)},
                                            {learns_at(8), learns_at(2), learns_at(5)}, 10);
  EXPECT_EQ(e.per_second, Effect::not_shown);
}

TEST(LearningCheck, OneSeedOrNothingLearntShowsNothing) {
  EXPECT_EQ(compare_learning({learns_at(9)}, {learns_at(1)}, 10).per_second, Effect::not_shown);
  const std::vector<ShortRun> flat = {learns_at(2, 0), learns_at(3, 0), learns_at(4, 0)};
  EXPECT_EQ(compare_learning(flat, flat, 10).per_second, Effect::not_shown);
}

// Twice the updates in the same time, each half as useful: equal per second, worse per update.
TEST(LearningCheck, LearningPerUpdateIsJudgedSeparately) {
  const auto twice = [](double reached) {
    return ShortRun{{0, 0, 0}, {reached, 20 * reached, 100}, {10, 200, 100}};
  };
  const LearningEffect e = compare_learning({learns_at(2), learns_at(2.1), learns_at(2.2)},
                                            {twice(2), twice(2.1), twice(2.2)}, 10);
  EXPECT_EQ(e.per_second, Effect::same);
  EXPECT_EQ(e.per_update, Effect::worse);
  EXPECT_DOUBLE_EQ(e.updates_before, 100);
  EXPECT_DOUBLE_EQ(e.updates_after, 200);
}

// Values from published tables.
TEST(LearningCheck, StudentsT) {
  EXPECT_NEAR(t_quantile(0.95, 2), 4.3027, 1e-3);
  EXPECT_NEAR(t_quantile(0.95, 10), 2.2281, 1e-3);
  EXPECT_NEAR(t_quantile(0.99, 4), 4.6041, 1e-3);
}

// With many comparisons, each needs stronger evidence.
TEST(LearningCheck, ManyComparisonsNeedStrongerEvidence) {
  const std::vector<ShortRun> a = {learns_at(6), learns_at(7), learns_at(6.5)};
  const std::vector<ShortRun> b = {learns_at(4), learns_at(4.4), learns_at(5.1)};
  const LearningEffect one = compare_learning(a, b, 10), many = compare_learning(a, b, 10, 20);
  EXPECT_EQ(one.per_second, Effect::better);
  EXPECT_EQ(many.per_second, Effect::not_shown);
  EXPECT_LT(many.low, one.low);
}

// A run that took longer is judged by its state when the time ended.
TEST(LearningCheck, AllRunsEndAtTheSameTime) {
  ShortRun longer = learns_at(2);
  longer.push_back({20, 200, 500});
  const LearningEffect e = compare_learning({longer, longer}, {learns_at(2), learns_at(2)}, 10);
  EXPECT_DOUBLE_EQ(e.return_before, 100);
  EXPECT_DOUBLE_EQ(e.updates_before, 100);
}

TEST(LearningCheck, AShortTrainingLearns) {
  TrainSpec spec = load_spec("cartpole_dqn");
  spec.run.steps = 100'000'000;  // the time ends this run on any machine
  const ShortRun run = train_shortly(spec, 1, 1.0, nullptr);
  ASSERT_GE(run.size(), 3u);
  EXPECT_EQ(run.front().updates, 0);
  EXPECT_EQ(run.front().seconds, 0);
  EXPECT_GT(run.back().updates, 1000);
  double best = 0;
  for (std::size_t i = 1; i < run.size(); ++i) {
    EXPECT_GE(run[i].seconds, run[i - 1].seconds);
    EXPECT_GE(run[i].updates, run[i - 1].updates);
    best = std::max(best, run[i].greedy_return);
  }
  EXPECT_GT(best, run.front().greedy_return + 50);
}

}  // namespace
}  // namespace hotloop
