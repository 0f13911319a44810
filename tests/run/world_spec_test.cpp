#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include "run/spec.hpp"
#include "run/trainer.hpp"

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
  EXPECT_EQ(spec.q.batch, 3);
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
