#include <gtest/gtest.h>
#include <hotloop/env.hpp>
#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "algo/dqn/learner.hpp"
#include "env/registry.hpp"
#include "spec/spec.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

// More actions than 16 bits can hold; the reward is the action taken.
struct ManyActions {
  static constexpr hotloop::EnvSpec spec{
      .name = "test_many_actions", .obs = 1, .actions = 70'000, .max_steps = 10};
  void reset(hotloop::Rng&) {}
  void observe(std::span<float> obs) const { obs[0] = 0; }
  hotloop::Step step(int action, hotloop::Rng&) { return {static_cast<float>(action), false}; }
};
HOTLOOP_ENV(ManyActions)

namespace hotloop {
namespace {

TrainSpec spec_by(const std::string& algorithm, const std::string& env,
                  const std::vector<std::string>& overrides = {}) {
  return load_world_spec(env, &find_algorithm(algorithm), overrides);
}

std::string refusal(const std::string& name, const std::string& algorithm) {
  try {
    load_spec_or_world(name, algorithm);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(WorldSpec, EveryAlgorithmHasGeneralSettings) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const char* env : {"cartpole", "pendulum"}) {
      const bool discrete = find_env(env).spec->actions > 0;
      if (!(discrete ? algorithm->facts().discrete : algorithm->facts().continuous)) continue;
      const TrainSpec spec = load_world_spec(env, algorithm);
      EXPECT_EQ(spec.algorithm, algorithm);
      EXPECT_EQ(spec.env, env);
      EXPECT_EQ(spec.name, env);
      EXPECT_NO_THROW(check_feasible(spec)) << algorithm->name() << " on " << env;
    }
  }
  for (const char* name : {"dqn", "ppo", "pqn", "sarsa"}) {
    EXPECT_EQ(spec_by(name, "cartpole").algorithm->name(), name);
  }
  EXPECT_NO_THROW(check_feasible(spec_by("ppo", "pendulum")));
}

TEST(WorldSpec, TheAlgorithmFollowsTheActions) {
  EXPECT_EQ(load_world_spec("cartpole", nullptr).algorithm->name(), "dqn");
  EXPECT_EQ(load_world_spec("pendulum", nullptr).algorithm->name(), "ppo");
}

TEST(WorldSpec, OverridesApplyAfterThem) {
  const std::vector<std::string> overrides = {"run.steps=7777", "name=mine", "algo.batch=3"};
  const TrainSpec spec = load_world_spec("cartpole", nullptr, overrides);
  EXPECT_EQ(spec.run.steps, 7777);
  EXPECT_EQ(spec.name, "mine");
  EXPECT_EQ(spec.learn.batch, 3);
}

TEST(WorldSpec, ItsAlgorithmIsNotAnOverride) {
  const std::vector<std::string> overrides = {"algo.name=pqn"};
  try {
    load_world_spec("cartpole", nullptr, overrides);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("choose it with --algo"), std::string::npos);
  }
}

TEST(WorldSpec, SpecsThatFitNoMachineAreRefused) {
  const auto refused = [](const std::vector<std::string>& overrides) -> std::string {
    try {
      check_feasible(spec_by("dqn", "cartpole", overrides));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  std::string wide = "16384";
  for (int layer = 1; layer < 32; ++layer) wide += ", 16384";  // 8 billion parameters
  EXPECT_TRUE(refused({"net.hidden=[" + wide + "]"}).starts_with("net.hidden: the network, with"));
  EXPECT_TRUE(refused({"replay.capacity=4000000000"}).starts_with("replay.capacity: 4000000000"));
  // All episodes of an evaluation are played at the same time. A network of few parameters:
  std::string activations = "16384";
  for (int layer = 1; layer < 16; ++layer) activations += ", 1, 16384";
  const std::vector<std::string> overrides = {"net.hidden=[" + activations + "]",
                                              "evaluation.episodes=1000000"};
  EXPECT_TRUE(refused(overrides).starts_with("evaluation.episodes: 1000000 episodes are played"))
      << refused(overrides);
  EXPECT_EQ(refused({overrides[0], "evaluation.episodes=10"}), "accepted");
}

// Prioritised replay takes any number of actions: with 70,000, it returns the actions taken.
TEST(WorldSpec, PrioritisedReplayTakesManyActions) {
  Trainer trainer(spec_by("dqn", "test_many_actions",
                          {"replay.prioritised=true", "replay.capacity=500", "run.steps=400",
                           "env.count=4", "net.hidden=[2]", "algo.learning_starts=100",
                           "algo.batch=4", "algo.train_every=4", "algo.n_step=1"}));
  while (!trainer.done()) trainer.round();
  EXPECT_GT(trainer.counters().updates, 0);
  Replay& replay = dynamic_cast<DqnLearner&>(trainer.learner()).replay();
  std::int32_t largest = 0;
  for (std::uint64_t stream = 0; stream < 100; ++stream) {
    replay.sample(1, 4, 1, stream);
    const Batch batch = replay.batch(0);
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(static_cast<float>(batch.actions[i]), batch.rewards[i]);
      largest = std::max(largest, batch.actions[i]);
    }
  }
  EXPECT_GT(largest, 1 << 16);
}

TEST(WorldSpec, SolvedNeedsAThreshold) {
  std::vector<std::string> overrides = {"evaluation.stop_when_solved=true"};
  EXPECT_NO_THROW(check_feasible(load_world_spec("cartpole", nullptr, overrides)));
  EXPECT_THROW(check_feasible(load_world_spec("snake", nullptr, overrides)), UsageError);
  overrides.push_back("evaluation.threshold=20");
  EXPECT_NO_THROW(check_feasible(load_world_spec("snake", nullptr, overrides)));
}

TEST(WorldSpec, AnAlgorithmIsForWorldsOnly) {
  EXPECT_EQ(refusal("cartpole", "dqn"), "");
  EXPECT_EQ(refusal("cartpole_dqn", ""), "");
  EXPECT_NE(refusal("cartpole_dqn", "dqn").find("is a spec"), std::string::npos);
  EXPECT_NE(refusal("cartpole", "dqm").find("did you mean dqn?"), std::string::npos);
  EXPECT_NE(refusal("cartpol", "dqn").find("did you mean cartpole?"), std::string::npos);
  EXPECT_NE(refusal("missing.cpp", "").find("no such file"), std::string::npos);
}

// The spec in a run folder names a world's file without its path; other environments do not change.
TEST(WorldSpec, RunFoldersNameTheFileOnly) {
  TrainSpec spec;
  spec.env = "some/where/maze.cpp";
  EXPECT_EQ(portable(spec).env, "maze.cpp");
  spec.env = "cartpole";
  EXPECT_EQ(portable(spec).env, "cartpole");
}

}  // namespace
}  // namespace hotloop
