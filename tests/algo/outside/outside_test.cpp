// Algorithms can be added from outside: the one in this folder (cross_entropy.cpp) is found by
// name, trained, resumed to the bit, evaluated, compared, profiled and examined like the built-in
// ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "algo/common/learner.hpp"
#include "doctor/remedy.hpp"
#include "profile/profile.hpp"
#include "record/env_facts.hpp"
#include "record/safetensors.hpp"
#include "record/saved_model.hpp"
#include "session/session.hpp"
#include "spec/spec.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpec =
    "env: {name: cartpole, count: 32}\n"
    "algo: {name: test_cem, n_steps: 200, elite: 0.25, extra_std: 0.1}\n"
    "evaluation: {every: 12800, episodes: 20}\n"
    "run: {steps: 128000, log_every: 6400}\n";

TrainSpec outside_spec(std::vector<std::string> overrides = {}) {
  return load_spec_text(kSpec, "outside.yaml", overrides);
}

std::string folder(const std::string& name) {
  const std::string path = testing::TempDir() + "/outside_" + name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

TEST(OutsideAlgorithm, IsReadByNameWithItsOwnKeysAndRules) {
  const TrainSpec spec = outside_spec();
  EXPECT_EQ(spec.algorithm->name(), "test_cem");
  EXPECT_EQ(spec.learn.train_every, 6400);
  EXPECT_EQ(to_yaml(load_spec_text(to_yaml(spec), "again.yaml")), to_yaml(spec));
  EXPECT_EQ(to_yaml(spec).find("replay:"), std::string::npos);
  EXPECT_THROW(outside_spec({"algo.elite=2"}), UsageError);
  EXPECT_THROW(outside_spec({"algo.n_step=3"}), UsageError);  // dqn's
  EXPECT_THROW(outside_spec({"env.count=2"}), UsageError);    // its own rule
  EXPECT_THROW(check_feasible(load_spec_text("env: {name: pendulum, count: 8}\n"
                                             "algo: {name: test_cem}\n",
                                             "continuous.yaml")),
               UsageError);
}

// A key of its own switches batch norm on; the running statistics are saved with the weights.
TEST(OutsideAlgorithm, ItsModelsKeepRunningStatistics) {
  const TrainSpec spec = outside_spec({"algo.batch_norm=true", "net.hidden=[8]"});
  Model model{.spec = spec, .structure = network_structure(spec), .parameters = {}};
  ASSERT_TRUE(model.structure.needs_whole_batch());
  model.parameters.resize(model.structure.storage);
  for (const TensorInfo& tensor : tensors(model.structure)) {
    for (std::size_t i = 0; tensor.is_vector() && i < tensor.size(); ++i)
      model.parameters[tensor.offset + i] = 0.5f * static_cast<float>(tensor.offset + i);
  }
  model.env_facts = env_facts(*make_worlds(spec.world(), 1));
  const std::string path = folder("statistics") + "/model.safetensors";
  save_model(path, model);
  EXPECT_TRUE(Safetensors(path).contains("layer2.variance"));
  const Model loaded = load_model(path);
  EXPECT_EQ(loaded.parameters, model.parameters);
  EXPECT_EQ(loaded.structure, model.structure);
}

TEST(OutsideAlgorithm, LearnsAndWritesARunLikeTheOthers) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const TrainSpec spec = outside_spec({"run.seed=" + std::to_string(seed)});
    const std::string run = folder("learns");
    const TrainResult result = start_run(spec, run, {});
    EXPECT_EQ(result.updates, 20);
    EXPECT_EQ(result.updates, result.declared_updates);
    EXPECT_GT(result.best_return_mean, 150) << "seed " << seed;  // random play earns 22
    ThreadTeam team(1);
    const SavedModel model = load_saved_model(run, "best", {});
    const Evaluation again = evaluate_model(model, spec.evaluation, seed, team);
    EXPECT_EQ(again.mean, result.best_return_mean);
    std::ifstream rows(run + "/metrics.jsonl");
    std::string row;
    ASSERT_TRUE(std::getline(rows, row));
    EXPECT_TRUE(nlohmann::json::parse(row).contains("elite_return")) << row;
  }
}

TEST(OutsideAlgorithm, ResumesToTheBitOnAnyNumberOfThreads) {
  const std::string straight = folder("straight"), split = folder("split");
  const TrainResult whole = start_run(outside_spec(), straight, {});
  start_run(outside_spec({"run.steps=64000"}), split, {});
  const TrainResult resumed = resume_run(
      load_run_spec(split, std::vector<std::string>{"run.steps=128000", "run.threads=2"}), split,
      {}, {});
  EXPECT_EQ(resumed.params_hash, whole.params_hash);
  EXPECT_EQ(resumed.updates, whole.updates);
  EXPECT_EQ(resumed.eval_return_mean, whole.eval_return_mean);
}

TEST(OutsideAlgorithm, IsProfiledAndExamined) {
  const Profile profile = take_profile(outside_spec(), {.seconds = 0.3});
  EXPECT_TRUE(profile.learnt);
  EXPECT_GT(profile.share("act"), 0.1);
  const SpecSource source = [](const std::vector<std::string>& overrides) {
    return outside_spec(overrides);
  };
  EXPECT_NO_THROW(propose(profile, source));
}

}  // namespace
}  // namespace hotloop
