#include "train/health.hpp"

#include <gtest/gtest.h>

#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

Health healthy() {
  return {.largest_q = 60,
          .q_bound = 100,
          .action_gap = 1,
          .terminal_share = 0.02,
          .target_lag = 0.05,
          .gradient_norm = 3};
}

TEST(Health, AHealthyRunIsNotWarnedAbout) {
  HealthRecord record;
  for (int row = 0; row < 5; ++row)
    EXPECT_TRUE(watch(healthy(), small_spec(), 700, record).empty());
  Health unknown;  // nothing learnt yet
  unknown.largest_q = 1e9;
  for (int row = 0; row < 5; ++row) EXPECT_TRUE(watch(unknown, small_spec(), 700, record).empty());
  EXPECT_TRUE(record.warnings.empty());
}

TEST(Health, EachBadSignIsReportedOnceAfterTwoRows) {
  const auto first_words = [](auto spoil) {
    HealthRecord record;
    watch(healthy(), small_spec(), 700, record);
    Health bad = healthy();
    spoil(bad);
    EXPECT_TRUE(watch(bad, small_spec(), 700, record).empty()) << "one bad row may be chance";
    const std::vector<std::string> raised = watch(bad, small_spec(), 700, record);
    EXPECT_EQ(raised.size(), 1u);
    EXPECT_TRUE(watch(bad, small_spec(), 700, record).empty()) << "already reported";
    EXPECT_EQ(record.warnings, raised);
    return raised.empty() ? std::string() : raised[0];
  };
  EXPECT_TRUE(
      first_words([](Health& h) { h.largest_q = 240; })
          .starts_with(
              "at env step 700: values are diverging: 240, but no policy can earn more than 100"));
  EXPECT_TRUE(first_words([](Health& h) {
                h.action_gap = 1e-5;
              }).starts_with("at env step 700: the network hardly distinguishes actions"));
  EXPECT_TRUE(
      first_words([](Health& h) {
        h.terminal_share = 0;
      }).starts_with("at env step 700: the replay memory has run out of terminal transitions"));
  EXPECT_TRUE(first_words([](Health& h) {
                h.target_lag = 3;
              }).starts_with("at env step 700: the target network lags behind by 3"));
  EXPECT_TRUE(first_words([](Health& h) {
                h.gradient_norm = 1e6;
              }).starts_with("at env step 700: the mean gradient norm is 1e+06"));
}

// Advice must be possible: nothing that the spec already has or would refuse.
TEST(Health, AdviceFitsTheSpec) {
  const auto words = [](TrainSpec spec, auto spoil) {
    HealthRecord record;
    Health bad = healthy();
    watch(bad, spec, 700, record);
    spoil(bad);
    watch(bad, spec, 700, record);
    const std::vector<std::string> raised = watch(bad, spec, 700, record);
    return raised.empty() ? std::string("nothing") : raised[0];
  };
  const auto mentions = [](const std::string& text, const char* key) {
    return text.find(key) != std::string::npos;
  };
  const auto steep = [](Health& h) { h.gradient_norm = 1e6; };
  const auto diverging = [](Health& h) { h.largest_q = 240; };
  const auto endless = [](Health& h) { h.terminal_share = 0; };
  TrainSpec spec = small_spec();
  dqn(spec).loss = Loss::mse;
  EXPECT_TRUE(mentions(words(spec, steep), "algo.loss huber"));
  dqn(spec).head.kind = HeadKind::c51;  // has a loss of its own
  EXPECT_FALSE(mentions(words(spec, steep), "algo.loss"));
  spec = small_spec();
  dqn(spec).loss = Loss::huber;
  EXPECT_FALSE(mentions(words(spec, steep), "algo.loss"));
  EXPECT_TRUE(mentions(words(spec, diverging), "algo.double"));
  dqn(spec).target.every = 0;  // Double needs a target network
  EXPECT_FALSE(mentions(words(spec, diverging), "algo.double"));
  EXPECT_TRUE(mentions(words(spec, endless), "algo.epsilon"));
  dqn(spec).explore.kind = Explore::boltzmann;
  EXPECT_FALSE(mentions(words(spec, endless), "algo.epsilon"));
}

TEST(Health, EpisodesThatNeverEndByThemselvesAreNotMissed) {
  HealthRecord record;
  Health h = healthy();
  h.terminal_share = 0;
  for (int row = 0; row < 5; ++row) EXPECT_TRUE(watch(h, small_spec(), 700, record).empty());
}

// The gap is judged relative to the values: a ten-thousandth is too small for 60 and enough for 2.
TEST(Health, TheActionGapIsRelativeToTheValues) {
  Health h = healthy();
  h.action_gap = 1e-4;
  EXPECT_NE(bad_signs(h, small_spec()), 0u);
  h.largest_q = 2;
  EXPECT_EQ(bad_signs(h, small_spec()), 0u);
}

// The warnings of a full run, checked every 400 steps.
std::string warnings_of(const TrainSpec& spec) {
  Trainer trainer(spec);
  HealthRecord record;
  while (!trainer.done()) {
    trainer.round();
    if (trainer.counters().env_steps % 400 != 0) continue;
    watch(examine(trainer), spec, trainer.counters().env_steps, record);
    trainer.window() = {};
  }
  std::string all;
  for (const std::string& warning : record.warnings) all += warning + "\n";
  return all;
}

// A learning rate far too high on squared errors, without a target network: the classic explosion.
TEST(Health, ADivergingRunIsFound) {
  TrainSpec spec = small_spec();
  dqn(spec).target.every = 0;
  dqn(spec).loss = Loss::mse;
  spec.optimiser.learning_rate = constant(0.3);
  spec.learn.updates_per_step = 2;
  spec.run.steps = 6000;
  EXPECT_NE(warnings_of(spec), "");
}

// CartPole's rewards are 1, so values approach 100 with gamma .99. A support that ends at 5, or at
// 0, cannot represent them. A support that is wide enough, or whose lower end no reward can reach,
// gets no warning.
TEST(Health, ASupportThatIsTooNarrowIsFound) {
  const auto warnings = [](double v_min, double v_max) {
    TrainSpec spec = small_spec();
    dqn(spec).head.kind = HeadKind::c51;
    dqn(spec).head.v_min = v_min;
    dqn(spec).head.v_max = v_max;
    spec.learn.updates_per_step = 1;
    spec.run.steps = 6000;
    return warnings_of(spec);
  };
  EXPECT_NE(warnings(-5, 5).find("(algo.v_max: 5), but returns may reach 100"), std::string::npos);
  EXPECT_NE(warnings(-100, 0).find("algo.v_max: 0"), std::string::npos);
  EXPECT_EQ(warnings(-100, 100).find("c51"), std::string::npos);
  EXPECT_EQ(warnings(0, 110).find("c51"), std::string::npos);
}

TEST(Health, ExaminesWithoutTouchingTraining) {
  const TrainSpec spec = small_spec();
  Trainer watched(spec), alone(spec);
  while (!watched.done()) {
    watched.round();
    examine(watched);
    alone.round();
  }
  EXPECT_TRUE(std::equal(watched.network().online().begin(), watched.network().online().end(),
                         alone.network().online().begin()));
  const Health health = examine(watched);
  EXPECT_NEAR(health.q_bound, 100, 1e-9);  // rewards are 1, gamma is .99
  EXPECT_GT(health.largest_q, 0);
  EXPECT_GT(health.terminal_share, 0.001);
  EXPECT_GT(health.target_lag, 0);
}

// The end of the support that is farther from 0, or the discounted sum of rewards of 1.
TEST(Health, TheBoundOfADistributionIsNoLessThanItsSupport) {
  const auto bound = [](double v_min, double v_max) {
    TrainSpec spec = small_spec();
    dqn(spec).head.kind = HeadKind::c51;
    dqn(spec).head.v_min = v_min;
    dqn(spec).head.v_max = v_max;
    Trainer trainer(spec);
    while (trainer.counters().env_steps < 100) trainer.round();
    return examine(trainer).q_bound;
  };
  EXPECT_NEAR(bound(-300, 10), 300, 1e-9);
  EXPECT_NEAR(bound(-10, 200), 200, 1e-9);
  EXPECT_NEAR(bound(-10, 10), 100, 1e-9);
}

TEST(Health, TheBoundIsInUnitsOfTheNormalisedReward) {
  TrainSpec spec = small_spec();
  spec.learn.normalise_rewards = true;
  Trainer trainer(spec);
  while (trainer.counters().env_steps < 400) trainer.round();
  const double factor = trainer.learner().reward_factor();
  EXPECT_LT(factor, 0.5) << "returns of CartPole spread far wider than 1";
  EXPECT_NEAR(examine(trainer).q_bound, 100 * factor, 1e-9);
}

}  // namespace
}  // namespace hotloop
