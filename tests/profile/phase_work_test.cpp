// Operations and bytes worked by hand for a DQN with a network 4-64-2: 768 operations forward and
// 1,024 backward per sample (tests/net/work_test.cpp).
#include "profile/phase_work.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/small_spec.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

TrainSpec spec_4_64_2() {
  TrainSpec spec;
  spec.env = "cartpole";
  spec.envs = 4;
  spec.net.hidden = {64};
  spec.learn.batch = 32;
  dqn(spec).replay.capacity = 10'000;
  return spec;
}

LearningWork learning_work(const TrainSpec& spec) {
  return spec.algorithm->work(spec, world_facts(spec.world()));
}

PhaseWork work(Phase phase, const TrainSpec& spec) {
  const PhaseCounts counts{.calls = 10, .env_steps = 400, .updates = 100, .target_updates = 3};
  return work_in_phase(phase, spec, learning_work(spec), network_structure(spec), counts);
}

TEST(PhaseWork, OperationsOfAVisitAreThoseOfItsSamples) {
  TrainSpec spec = spec_4_64_2();
  EXPECT_EQ(work(Phase::act_forward, spec).flop, 10 * 4 * 768.0);
  EXPECT_EQ(work(Phase::learn_target, spec).flop, 10 * 32 * 768.0);
  EXPECT_EQ(work(Phase::learn_forward, spec).flop, 10 * 32 * 768.0);
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 32 * 1024.0);
  dqn(spec).double_q = true;  // the online network chooses, the target network judges
  EXPECT_EQ(work(Phase::learn_target, spec).flop, 10 * 2 * 32 * 768.0);
  EXPECT_EQ(work(Phase::learn_forward, spec).flop, 10 * 32 * 768.0);
}

TEST(PhaseWork, LargeBatchesAreSharedByThreads) {
  TrainSpec spec = spec_4_64_2();
  spec.learn.batch = 1024;  // eight times 128 rows
  EXPECT_EQ(work(Phase::learn_forward, spec).flop, 10 * 128 * 768.0);
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 128 * 1024.0);
  spec.threads = 2;
  EXPECT_EQ(work(Phase::learn_forward, spec).flop, 10 * 512 * 768.0);
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 512 * 1024.0);
  spec.threads = 100;  // 36 have nothing to do: 16 rows are the least
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 16 * 1024.0);
}

TEST(PhaseWork, SmallBatchesAreNotShared) {
  TrainSpec spec = spec_4_64_2();
  spec.threads = 2;
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 32 * 1024.0);
}

// Pendulum with one hidden layer: an actor 3-64-2, with 640 operations forward and 896 backward, and
// two critics 4-64-1, with 640 forward and 768 backward. The actor's gradient takes 640 more in each.
TEST(PhaseWork, ActorAndCriticsCountTheirPasses) {
  TrainSpec spec;
  spec.env = "pendulum";
  use_algorithm(spec, find_algorithm("sac"));
  spec.net.hidden = {64};
  spec.learn.batch = 1024;  // eight times 128 rows
  EXPECT_EQ(work(Phase::learn_target, spec).flop, 10 * 128 * (640 + 2 * 640.0));
  EXPECT_EQ(work(Phase::learn_forward, spec).flop, 10 * 128 * 640.0);
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 128 * 768.0);
  EXPECT_EQ(work(Phase::learn_actor, spec).flop, 10 * 128 * (640 + 896 + 2 * (640 + 640.0)));
  spec.threads = 2;
  EXPECT_EQ(work(Phase::learn_actor, spec).flop, 10 * 512 * (640 + 896 + 2 * (640 + 640.0)));
}

// Parts that are not full are counted with their real size.
TEST(PhaseWork, AShortLastPartCountsAsItIs) {
  TrainSpec spec = spec_4_64_2();
  spec.learn.batch = 129;  // 128 rows and 1
  spec.envs = 33;          // blocks of 32 and 1
  EXPECT_EQ(work(Phase::act_forward, spec).flop, 10 * 16.5 * 768.0);
  EXPECT_EQ(work(Phase::learn_target, spec).flop, 10 * 64.5 * 768.0);
  EXPECT_EQ(work(Phase::learn_forward, spec).flop, 10 * 64.5 * 768.0);
  EXPECT_EQ(work(Phase::learn_backward, spec).flop, 10 * 64.5 * 1024.0);
}

// PPO acts with only the part of the network that its actions need.
TEST(PhaseWork, ActingLeavesOutValuesThatShareNothing) {
  TrainSpec spec = spec_4_64_2();
  const NetOptions net = spec.net;
  use_algorithm(spec, find_algorithm("ppo"));
  spec.net = net;
  const double shared = work(Phase::act_forward, spec).flop;
  EXPECT_EQ(shared, 10 * 4 * 2.0 * (4 * 64 + 64 * 3));
  spec.net.separate = true;
  EXPECT_EQ(work(Phase::act_forward, spec).flop, 10 * 4 * 2.0 * (4 * 64 + 64 * 2));
}

TEST(PhaseWork, BytesAreThoseOfParametersAndTransitions) {
  TrainSpec spec = spec_4_64_2();
  // Floats, rows padded to 8 and tensors to 16: 64 x 8, 64, 2 x 64, 2.
  const double parameters = 4.0 * (512 + 64 + 128 + 16);
  EXPECT_EQ(work(Phase::learn_clip, spec).bytes, 100 * parameters);
  EXPECT_EQ(work(Phase::learn_optimiser, spec).bytes, 100 * 7 * parameters);  // Adam
  spec.optimiser.kind = OptimiserKind::sgd;
  spec.optimiser.momentum = 0;
  EXPECT_EQ(work(Phase::learn_optimiser, spec).bytes, 100 * 3 * parameters);
  EXPECT_EQ(work(Phase::learn_sync, spec).bytes, 3 * 2 * parameters);

  // An observation of four floats, and eight bytes for action, reward and end; final observations
  // are stored separately.
  const double transition = learning_work(spec).bytes_per_transition;
  EXPECT_GE(transition, 24);
  EXPECT_LE(transition, 24.1);
  EXPECT_EQ(work(Phase::memory_push, spec).bytes, 400 * transition);
  EXPECT_EQ(work(Phase::memory_gather, spec).bytes, 100 * 32 * 2 * transition);
}

TEST(PhaseWork, OtherPhasesHaveNone) {
  for (const Phase phase : {Phase::env_step, Phase::act_choose, Phase::learn_loss, Phase::log}) {
    EXPECT_TRUE(std::isnan(work(phase, spec_4_64_2()).flop));
    EXPECT_TRUE(std::isnan(work(phase, spec_4_64_2()).bytes));
  }
}

}  // namespace
}  // namespace hotloop
