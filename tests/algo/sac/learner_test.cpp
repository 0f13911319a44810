// What SAC adds to the training loop: its temperature; and what happens when an update fails.
#include "algo/sac/learner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <hotloop/error.hpp>

#include "tests/train/variants.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

TrainSpec sac_spec() {
  TrainSpec spec = small_spec();
  become_continuous(spec, "sac");
  return spec;
}

SacLearner& learner_of(Trainer& trainer) { return dynamic_cast<SacLearner&>(trainer.learner()); }

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

// Whatever the target, a checkpoint holds a temperature that can be restored.
TEST(SacLearner, KeepsTheTemperatureWithinItsBounds) {
  TrainSpec spec = sac_spec();
  sac(spec).target_entropy = -1'000;
  sac(spec).ent_coef_learning_rate = constant(5);
  Trainer trainer(spec);
  while (trainer.counters().updates < 40) trainer.round();
  EXPECT_EQ(learner_of(trainer).sac().log_temperature()[0], -kMaxLogTemperature);
}

// Two uniform actions in [-1, 1] have the entropy 2 ln 2 = 1.386; no other density has more.
TEST(SacLearner, RefusesAnEntropyThatNoPolicyHas) {
  TrainSpec spec = sac_spec();
  sac(spec).target_entropy = 0.69;
  EXPECT_NO_THROW(check_feasible(spec));
  sac(spec).target_entropy = 0.7;
  try {
    check_feasible(spec);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "algo.target_entropy: 0.7 cannot be reached: the entropy of 1 action in [-1, 1] is "
        "below 0.69; the usual target is -1");
  }
}

TEST(SacLearner, ACriticThatIsNotFiniteStopsTheUpdateBeforeTheActor) {
  Trainer trainer(sac_spec());
  while (trainer.counters().updates == 0) trainer.round();
  SacLearner& learner = learner_of(trainer);
  const std::vector<float> actor = copy(learner.sac().actor().online());
  const float temperature = learner.sac().log_temperature()[0];
  learner.sac().critics().network(1).online()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(trainer.round(), RunError);
  EXPECT_EQ(copy(learner.sac().actor().online()), actor);
  EXPECT_EQ(learner.sac().log_temperature()[0], temperature);
}

// The optimiser's momentum is meant for networks: CrossQ's 0.5 is not the temperature's.
TEST(SacLearner, TheTemperatureHasTheUsualMomentum) {
  TrainSpec spec = sac_spec();
  spec.optimiser.beta1 = 0.5f;
  Trainer trainer(spec);
  while (trainer.counters().updates == 0) trainer.round();
  const Optimiser& optimiser = learner_of(trainer).sac().temperature_optimiser();
  EXPECT_EQ(optimiser.options().beta1, 0.9f);
  EXPECT_EQ(learner_of(trainer).sac().actor().optimiser().options().beta1, 0.5f);
}

TEST(SacLearner, CountsTargetUpdatesOnlyWhereThereAreTargets) {
  TrainSpec spec = sac_spec();
  Trainer with(spec);
  sac(spec).critics.crossq = true;
  Trainer without(spec);
  for (int round = 0; round < 60; ++round) with.round(), without.round();
  EXPECT_GT(with.counters().updates, 0);
  EXPECT_EQ(with.counters().target_updates, with.counters().updates);
  EXPECT_EQ(without.counters().target_updates, 0);
}

}  // namespace
}  // namespace hotloop
