#include <gtest/gtest.h>
#include <hotloop/env.hpp>
#include <hotloop/error.hpp>

#include "spec/spec.hpp"
#include "train/trainer.hpp"

// One action more than replay by priority takes.
struct ManyActions {
  static constexpr hotloop::EnvSpec spec{
      .name = "test_many_actions", .obs = 1, .actions = 16385, .max_steps = 10};
  void reset(hotloop::Rng&) {}
  void observe(std::span<float> obs) const { obs[0] = 0; }
  hotloop::Step step(int, hotloop::Rng&) { return {}; }
};
HOTLOOP_ENV(ManyActions)

namespace hotloop {
namespace {

std::string refusal(const std::string& name, const std::string& algorithm) {
  try {
    load_spec_or_world(name, algorithm);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(WorldSpec, EveryAlgorithmHasGeneralSettings) {
  for (std::size_t i = 0; i < kAlgorithmNames.size(); ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const TrainSpec spec = load_world_spec("cartpole", algorithm);
    EXPECT_EQ(spec.algorithm, algorithm);
    EXPECT_EQ(spec.env, "cartpole");
    EXPECT_EQ(spec.name, "cartpole");
    EXPECT_NO_THROW(check_feasible(spec)) << kAlgorithmNames[i];
  }
  EXPECT_NO_THROW(check_feasible(load_world_spec("pendulum", Algorithm::ppo)));
}

TEST(WorldSpec, TheAlgorithmFollowsTheActions) {
  EXPECT_EQ(load_world_spec("cartpole", {}).algorithm, Algorithm::dqn);
  EXPECT_EQ(load_world_spec("pendulum", {}).algorithm, Algorithm::ppo);
}

TEST(WorldSpec, OverridesApplyAfterThem) {
  const std::vector<std::string> overrides = {"run.steps=7777", "name=mine", "algo.batch=3"};
  const TrainSpec spec = load_world_spec("cartpole", {}, overrides);
  EXPECT_EQ(spec.run.steps, 7777);
  EXPECT_EQ(spec.name, "mine");
  EXPECT_EQ(spec.learn.batch, 3);
}

TEST(WorldSpec, ItsAlgorithmIsNotAnOverride) {
  const std::vector<std::string> overrides = {"algo.name=pqn"};
  try {
    load_world_spec("cartpole", {}, overrides);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("choose one by --algo"), std::string::npos);
  }
}

TEST(WorldSpec, WhatNoMachineHasRoomForIsRefusedBeforehand) {
  const auto refused = [](const std::vector<std::string>& overrides) -> std::string {
    try {
      check_feasible(load_world_spec("cartpole", Algorithm::dqn, overrides));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  std::string wide = "16384";
  for (int layer = 1; layer < 32; ++layer) wide += ", 16384";  // 8 billion parameters
  EXPECT_TRUE(refused({"net.hidden=[" + wide + "]"}).starts_with("net.hidden: the network, with"));
  EXPECT_TRUE(refused({"replay.capacity=4000000000"}).starts_with("replay.capacity: 4000000000"));
}

TEST(WorldSpec, PrioritiesLeaveRoomForSoManyActions) {
  EXPECT_NO_THROW(check_feasible(load_world_spec("test_many_actions", Algorithm::dqn)));
  const std::vector<std::string> overrides = {"replay.prioritised=true"};
  try {
    check_feasible(load_world_spec("test_many_actions", Algorithm::dqn, overrides));
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("replay.prioritised: test_many_actions has 16385 actions, but"))
        << error.what();
  }
}

TEST(WorldSpec, SolvedNeedsAThreshold) {
  std::vector<std::string> overrides = {"evaluation.stop_when_solved=true"};
  EXPECT_NO_THROW(check_feasible(load_world_spec("cartpole", {}, overrides)));
  EXPECT_THROW(check_feasible(load_world_spec("snake", {}, overrides)), UsageError);
  overrides.push_back("evaluation.threshold=20");
  EXPECT_NO_THROW(check_feasible(load_world_spec("snake", {}, overrides)));
}

TEST(WorldSpec, AnAlgorithmIsForWorldsOnly) {
  EXPECT_EQ(refusal("cartpole", "dqn"), "");
  EXPECT_EQ(refusal("cartpole_dqn", ""), "");
  EXPECT_NE(refusal("cartpole_dqn", "dqn").find("is a spec"), std::string::npos);
  EXPECT_NE(refusal("cartpole", "dqm").find("did you mean dqn?"), std::string::npos);
  EXPECT_NE(refusal("cartpol", "dqn").find("did you mean cartpole?"), std::string::npos);
  EXPECT_NE(refusal("missing.cpp", "").find("no such file"), std::string::npos);
}

// What is written beside a world's file names the file alone; other environments stay as they are.
TEST(WorldSpec, RunFoldersNameTheFileOnly) {
  TrainSpec spec;
  spec.env = "some/where/maze.cpp";
  EXPECT_EQ(portable(spec).env, "maze.cpp");
  spec.env = "cartpole";
  EXPECT_EQ(portable(spec).env, "cartpole");
}

}  // namespace
}  // namespace hotloop
