#include "algo/dqn/learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "algo/common/rounds.hpp"
#include "tests/train/small_spec.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

// Check 6 of SLM-Lab's specification, on its demo: 10,000 frames of one CartPole.
TEST(DqnLearner, MakesAsManyEventsUpdatesBatchesAndBlendsAsTheDemo) {
  const TrainSpec spec = load_spec("slm_dqn_cartpole");
  EXPECT_EQ(declared_updates(spec, spec.run.steps), 79'744);
  Trainer trainer(spec);
  std::int64_t first_update_after = 0;
  while (!trainer.done()) {
    trainer.round();
    if (first_update_after == 0 && trainer.counters().updates > 0) {
      first_update_after = trainer.counters().env_steps;
    }
  }
  EXPECT_EQ(first_update_after, 33);
  EXPECT_EQ(trainer.counters().env_steps, 10'000);
  EXPECT_EQ(trainer.counters().train_events, 2'492);
  EXPECT_EQ(trainer.counters().updates, 79'744);
  EXPECT_EQ(trainer.counters().batches, 9'968);
  EXPECT_EQ(trainer.counters().target_updates, 312);
}

void copy_memory(Replay& from, Replay& to) {
  std::map<std::string, std::vector<std::byte>> arrays;
  from.visit([&](const std::string& name, auto array, const Limits&) {
    const auto bytes = std::as_bytes(array);
    arrays[name].assign(bytes.begin(), bytes.end());
  });
  to.visit([&](const std::string& name, auto array, const Limits&) {
    ASSERT_EQ(arrays.at(name).size(), array.size_bytes()) << name;
    std::copy(arrays.at(name).begin(), arrays.at(name).end(),
              std::as_writable_bytes(array).begin());
  });
}

// Check 7: a round draws all its batches and gathers them in one pass. A plain loop that draws and
// learns one batch after the other must end with the same bits.
TEST(DqnLearner, FusedBatchesEqualSequentialOnes) {
  TrainSpec spec = small_spec();
  spec.learn.updates_per_step = 2;
  dqn(spec).repeats = 2;
  spec.learn.train_every = 32;  // 64 updates on 32 batches, gathered at once
  dqn(spec).target.every = 100'000;
  spec.run.steps = 1024;

  Trainer trainer(spec);
  DqnLearner& fused = dynamic_cast<DqnLearner&>(trainer.learner());
  Dqn slow(network_structure(spec), spec, spec.run.seed);
  Replay replay(dqn_replay_shape(spec, trainer.world()), spec.learn.batch);
  ThreadTeam team(1);
  replay.begin(trainer.env().obs(), {});
  std::uint64_t batches = 0, updates = 0;
  ASSERT_TRUE(std::equal(slow.online().begin(), slow.online().end(), fused.dqn().online().begin()));
  while (!trainer.done()) {
    const std::int64_t events = trainer.counters().train_events;
    trainer.round();
    // The same transitions: a round collects first and learns afterwards.
    copy_memory(fused.replay(), replay);
    if (trainer.counters().train_events == events) continue;
    for (int i = 0; i < 32; ++i) {
      replay.sample(1, spec.learn.batch, spec.run.seed, batches++);
      for (int repeat = 0; repeat < 2; ++repeat) {
        const Batch batch = replay.batch(0);
        slow.update({&batch, 1}, spec.optimiser.learning_rate.from, updates++, team);
      }
    }
    ASSERT_TRUE(
        std::equal(slow.online().begin(), slow.online().end(), fused.dqn().online().begin()))
        << updates << " updates";
  }
  EXPECT_GT(updates, 1000u);
}

// A schedule that counts updates sees every one of them.
TEST(DqnLearner, TheLearningRateFollowsTheUpdates) {
  TrainSpec spec = small_spec();
  spec.optimiser.learning_rate = {
      .kind = ScheduleKind::step, .from = 1e-3, .factor = 0, .every = 100, .count = Count::updates};
  Trainer trainer(spec);
  std::vector<float> frozen;
  while (!trainer.done()) {
    trainer.round();
    if (trainer.counters().updates < 100) continue;
    const std::vector<float> now(trainer.network().online().begin(),
                                 trainer.network().online().end());
    if (!frozen.empty()) {
      ASSERT_EQ(now, frozen) << "the rate is 0 from update 100 on";
    }
    frozen = now;
  }
  EXPECT_FALSE(frozen.empty());
}

TEST(DqnLearner, TheTargetMaySyncByEpisodes) {
  TrainSpec spec = small_spec();
  dqn(spec).target.every = 10;
  dqn(spec).target.count = Count::episodes;
  Trainer trainer(spec);
  while (!trainer.done()) trainer.round();
  EXPECT_GT(trainer.counters().episodes, 30);
  EXPECT_EQ(trainer.counters().target_updates, trainer.counters().episodes / 10);
}

// A target network that never syncs, compared with the trained online network.
TEST(DqnLearner, TheTargetLagIsRelativeToTheNormOfTheNetwork) {
  TrainSpec spec = small_spec();
  dqn(spec).target.every = 100'000;
  Trainer trainer(spec);
  while (!trainer.done()) trainer.round();
  Dqn& dqn = dynamic_cast<DqnLearner&>(trainer.learner()).dqn();
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < dqn.online().size(); ++i) {
    apart = std::hypot(apart, static_cast<double>(dqn.online()[i]) - dqn.target()[i]);
    size = std::hypot(size, dqn.online()[i]);
  }
  EXPECT_GT(apart, 0.01 * size);
  EXPECT_LT(apart, 0.9 * size);
  EXPECT_NEAR(trainer.learner().signs(trainer.counters()).target_lag, apart / size, 1e-6);
}

// Random play never reaches the top: all episodes are truncated after 200 steps.
TEST(DqnLearner, TruncationMayCountAsAnEnd) {
  for (const bool ends : {false, true}) {
    TrainSpec spec = small_spec();
    spec.env = "mountaincar";
    dqn(spec).truncation_ends = ends;
    dqn(spec).explore.epsilon = constant(1);
    Trainer trainer(spec);
    while (trainer.counters().env_steps < 1000) trainer.round();
    EXPECT_EQ(trainer.counters().episodes, 4);
    EXPECT_EQ(trainer.learner().signs(trainer.counters()).terminal_share, ends ? 4.0 / 1000 : 0);
  }
}

}  // namespace
}  // namespace hotloop
