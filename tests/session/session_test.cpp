#include "session/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/json.hpp"
#include "record/checkpoint.hpp"
#include "record/model_file.hpp"
#include "record/safetensors.hpp"
#include "tests/train/variants.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    folder_ =
        fs::temp_directory_path() / ("hotloop-session-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SessionTest() override { fs::remove_all(folder_); }

  std::string run_dir() { return make_run_folder(folder_.string(), "run"); }

  // Compares a run that is stopped after every round with one that is not; returns the result.
  TrainResult expect_stopping_changes_nothing(const TrainSpec& spec);

  fs::path folder_;
};

// Every tensor and every number of a checkpoint except wall time.
std::map<std::string, std::vector<std::byte>> contents(const std::string& path) {
  const Safetensors file(path);
  std::map<std::string, std::vector<std::byte>> all;
  for (const std::string& name : file.names()) {
    std::size_t elements = 1;
    for (std::int64_t extent : file.shape(name)) elements *= static_cast<std::size_t>(extent);
    std::vector<std::byte>& bytes = all[name];
    bytes.resize(elements * dtype_size(file.dtype(name)));
    const auto copy = [&]<class T>(T*) {
      file.copy(name, std::span<T>(reinterpret_cast<T*>(bytes.data()), elements), Limits::any());
    };
    if (file.dtype(name) == Dtype::f32)
      copy(static_cast<float*>(nullptr));
    else if (file.dtype(name) == Dtype::f64)
      copy(static_cast<double*>(nullptr));
    else if (file.dtype(name) == Dtype::i32)
      copy(static_cast<std::int32_t*>(nullptr));
    else if (file.dtype(name) == Dtype::i64)
      copy(static_cast<std::int64_t*>(nullptr));
    else if (file.dtype(name) == Dtype::u64)
      copy(static_cast<std::uint64_t*>(nullptr));
    else
      copy(static_cast<std::uint8_t*>(nullptr));
  }
  Json state = Json::parse(file.metadata("state"));
  for (const char* timing : {"seconds", "group_seconds", "solved_seconds", "metrics_bytes"})
    EXPECT_EQ(state.at("record").erase(timing), 1u) << timing;
  const std::string text = state.dump();
  all["state"].assign(reinterpret_cast<const std::byte*>(text.data()),
                      reinterpret_cast<const std::byte*>(text.data()) + text.size());
  return all;
}

// The rows of metrics.jsonl without the columns that depend on the clock or the machine.
std::vector<Json> metrics(const std::string& run_dir) {
  std::vector<Json> rows;
  std::ifstream file(run_dir + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    Json row = Json::parse(line);
    for (const char* key :
         {"seconds", "env_steps_per_second", "updates_per_second", "resident_bytes", "time"}) {
      EXPECT_TRUE(row.contains(key)) << key;
      row.erase(key);
    }
    rows.push_back(row);
  }
  return rows;
}

std::string episode_lines(const std::string& run_dir) {
  return std::string(read_file(run_dir + "/episodes.jsonl").text());
}

TrainResult SessionTest::expect_stopping_changes_nothing(const TrainSpec& spec) {
  const std::string straight = run_dir();
  const TrainResult expected = start_run(spec, straight, {});
  EXPECT_GT(expected.updates, 0);

  const std::string split = run_dir();
  const std::atomic<bool> stop{true};
  const SessionHooks hooks{.progress = nullptr, .stop = &stop};
  TrainResult result = start_run(spec, split, hooks);
  EXPECT_TRUE(std::isnan(result.score_greedy)) << "nothing has been evaluated yet";
  while (result.interrupted) result = resume_run(spec, split, std::nullopt, hooks);

  EXPECT_EQ(result.params_hash, expected.params_hash);
  EXPECT_EQ(result.episodes, expected.episodes);
  EXPECT_EQ(result.score_last100, expected.score_last100);
  EXPECT_EQ(result.score_max, expected.score_max);
  EXPECT_EQ(result.score_greedy, expected.score_greedy);
  EXPECT_EQ(result.measures.size(), expected.measures.size());
  for (std::size_t i = 0; i < result.measures.size(); ++i) {
    const double found = result.measures[i].second, wanted = expected.measures[i].second;
    EXPECT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted)))
        << result.measures[i].first;
  }
  EXPECT_EQ(contents(list_checkpoints(split).back()), contents(list_checkpoints(straight).back()));
  EXPECT_EQ(metrics(split), metrics(straight));
  EXPECT_EQ(fs::exists(split + "/episodes.jsonl"), spec.run.episode_log);
  if (spec.run.episode_log) {
    EXPECT_EQ(episode_lines(split), episode_lines(straight));
  }
  return result;
}

// Stopped after every round, while the ring fills and wraps, with evaluations, a solved threshold,
// terminations, truncations and target updates; with and without masks.
TEST_F(SessionTest, StoppedAfterEveryRoundEqualsStraightInEverything) {
  for (const char* env : {"cartpole", "test_masked"}) {
    TrainSpec spec = small_spec();
    spec.env = env;
    dqn(spec).replay.capacity = 400;
    spec.learn.train_every = 24;
    spec.evaluation.every = 200;
    spec.evaluation.threshold = 5;
    spec.run.steps = 1212;  // not a multiple of a round
    spec.run.log_every = 100;
    const std::string straight = run_dir();
    const TrainResult expected = start_run(spec, straight, {});
    EXPECT_TRUE(expected.solved);

    const std::string split = run_dir();
    const std::atomic<bool> stop{true};
    const SessionHooks hooks{.progress = nullptr, .stop = &stop};
    TrainResult result = start_run(spec, split, hooks);
    int sessions = 1;
    for (; result.interrupted; ++sessions) result = resume_run(spec, split, std::nullopt, hooks);

    EXPECT_EQ(sessions, 51);  // 50 full rounds and the rest
    EXPECT_EQ(result.params_hash, expected.params_hash);
    EXPECT_EQ(result.env_steps, expected.env_steps);
    EXPECT_EQ(result.updates, expected.updates);
    EXPECT_EQ(result.eval_return_mean, expected.eval_return_mean);
    EXPECT_EQ(result.best_return_mean, expected.best_return_mean);
    EXPECT_EQ(result.solved_env_steps, expected.solved_env_steps);
    EXPECT_EQ(contents(list_checkpoints(split).back()),
              contents(list_checkpoints(straight).back()));
    EXPECT_EQ(metrics(split), metrics(straight));
    EXPECT_EQ(metrics(straight).size(), 13u);  // twelve at multiples of 100, one at the end
    EXPECT_FALSE(metrics(straight).back().at("greedy_return").is_null());
  }
}

// Options, measures and a budget of episodes, on boards with truncations.
TEST_F(SessionTest, StoppedAfterEveryRoundEqualsStraightWithMeasures) {
  TrainSpec spec = small_spec();
  spec.env = "snake";
  spec.env_options = {
      {"grid", "5"}, {"max_steps", "30"}, {"obs", "flood"}, {"soft_entrapment", "true"}};
  spec.evaluation.every = 0;
  spec.run.steps = kNoLimit;
  spec.run.episodes = 60;
  const TrainResult result = expect_stopping_changes_nothing(spec);
  EXPECT_GE(result.episodes, 60);
}

// An option that a world marks as affecting only speed does not change learning.
TEST_F(SessionTest, AnotherFloodFillLearnsTheSame) {
  TrainSpec spec = small_spec();
  spec.env = "snake";
  spec.env_options = {{"grid", "6"}, {"obs", "selective"}, {"soft_entrapment", "true"}};
  const std::string hash = start_run(spec, run_dir(), {}).params_hash;
  spec.env_options.emplace_back("flood_fill", "queue");
  EXPECT_EQ(start_run(spec, run_dir(), {}).params_hash, hash);
  spec.env_options.emplace_back("lethal_tail", "true");  // affects more than speed
  EXPECT_NE(start_run(spec, run_dir(), {}).params_hash, hash);
}

// Branches, masks, evaluations, and measures that are undefined in many episodes (MIoT cannot be
// served, and hardly anything is served within 30 actions).
TEST_F(SessionTest, StoppedAfterEveryRoundEqualsStraightWithBranches) {
  TrainSpec spec = small_spec();
  spec.env = "sfc";
  spec.env_options = {{"mask", "on"}, {"max_steps", "30"}, {"scale", "on"}};
  spec.net.branches = {{"h1", {"dc"}, {"dense 8"}},
                       {"h2", {"dc_sfc"}, {"dense 4", "flatten", "dense 8"}},
                       {"context", {"h1", "h2"}, {"stack", "attention 5"}},
                       {"all", {"h1", "global", "context"}, {}}};
  spec.evaluation.every = 200;
  spec.run.steps = 800;
  spec.run.episode_log = true;
  const TrainResult result = expect_stopping_changes_nothing(spec);
  EXPECT_NE(episode_lines(result.run_dir).find(":null"), std::string::npos);
  const auto row = metrics(result.run_dir).back();
  EXPECT_TRUE(row.at("greedy_measures").at("score").is_number());
  EXPECT_TRUE(row.at("measures").at("score").is_number());
}

// One line per episode with all that is known about it. Lines that a killed run wrote after its
// checkpoint appear only once. The log may start later.
TEST_F(SessionTest, EveryEpisodeIsALine) {
  TrainSpec spec = small_spec();
  spec.env = "snake";
  spec.env_options = {{"grid", "5"}, {"max_steps", "30"}};
  spec.evaluation.every = 0;
  spec.run.steps = 1600;
  spec.run.episode_log = true;
  const std::string straight = run_dir();
  const TrainResult expected = start_run(spec, straight, {});
  std::vector<Json> rows;
  std::ifstream file(straight + "/episodes.jsonl");
  for (std::string line; std::getline(file, line);) rows.push_back(Json::parse(line));
  EXPECT_EQ(static_cast<std::int64_t>(rows.size()), expected.episodes);
  double sum = 0, before = 0;
  const EnvSpec env = env_spec(spec.world());
  for (const Json& row : rows) {
    EXPECT_EQ(row.size(), 3u + env.measure_count());
    for (int i = 0; i < env.measure_count(); ++i) EXPECT_TRUE(row.contains(env.measures[i]));
    EXPECT_GE(row.at("env_steps"), before);
    EXPECT_GE(row.at("length"), 1);
    EXPECT_LE(row.at("length"), 30);
    before = row.at("env_steps");
    sum += row.at("return").get<double>();
  }
  EXPECT_LE(before, 1600);
  EXPECT_NEAR(sum / static_cast<double>(rows.size()), expected.episode_return_mean, 1e-4);

  TrainSpec half = spec;
  half.run.steps = 800;
  const std::string killed = run_dir();
  start_run(half, killed, {});
  std::ofstream(killed + "/episodes.jsonl", std::ios::app) << "{\"env_steps\":808,\"ret";
  resume_run(spec, killed, std::nullopt, {});
  EXPECT_EQ(episode_lines(killed), episode_lines(straight));

  half.run.episode_log = false;
  const std::string late = run_dir();
  start_run(half, late, {});
  EXPECT_FALSE(fs::exists(late + "/episodes.jsonl"));
  resume_run(spec, late, std::nullopt, {});
  const std::string lines = episode_lines(late);
  EXPECT_FALSE(lines.empty());
  EXPECT_LT(lines.size(), episode_lines(straight).size());
  EXPECT_TRUE(episode_lines(straight).ends_with(lines));
}

TEST_F(SessionTest, LoggingEvaluationAndCheckpointsDoNotTouchTraining) {
  TrainSpec spec = small_spec();
  const std::string hash = start_run(spec, run_dir(), {}).params_hash;
  spec.evaluation.every = 50;
  spec.run.log_every = 17;
  spec.run.episode_log = true;
  spec.run.checkpoint_seconds = 0;
  EXPECT_EQ(start_run(spec, run_dir(), {}).params_hash, hash);
}

class ExtendedSession : public SessionTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Pipelined, ExtendedSession, testing::Bool());

TEST_P(ExtendedSession, EqualsTheLongerRun) {
  TrainSpec spec = small_spec();
  spec.learn.pipelined = GetParam();
  if (GetParam()) spec.learn.train_every = 80;
  spec.run.steps = 4000;
  const TrainResult longer = start_run(spec, run_dir(), {});
  const std::string extended = run_dir();
  spec.run.steps = 2804;  // ends in the middle of a round
  start_run(spec, extended, {});
  const std::vector<std::string> more = {"run.steps=4000"};
  const TrainResult result = resume_run(load_run_spec(extended, more), extended, std::nullopt, {});
  EXPECT_EQ(result.params_hash, longer.params_hash);
  EXPECT_EQ(result.updates, longer.updates);
  EXPECT_EQ(load_run_spec(extended, {}).run.steps, 4000);  // a later resume uses it
}

TEST_F(SessionTest, OneProcessAtATime) {
  const std::string dir = run_dir();
  start_run(small_spec(), dir, {});
  const FileLock other(dir + "/.lock", dir);
  EXPECT_THROW(resume_run(small_spec(), dir, std::nullopt, {}), RunError);
}

TEST_F(SessionTest, ResumingFromAnEarlierCheckpointDiscardsTheLaterOnes) {
  TrainSpec spec = small_spec();
  spec.run.checkpoint_seconds = 0;
  const std::string dir = run_dir();
  const std::string hash = start_run(spec, dir, {}).params_hash;
  const std::vector<std::string> before = list_checkpoints(dir);
  ASSERT_EQ(before.size(), 2u);
  const std::atomic<bool> stop{true};
  spec.run.steps = 4000;  // so that there is something to stop
  EXPECT_TRUE(resume_run(spec, dir, before[0], {.progress = nullptr, .stop = &stop}).interrupted);
  EXPECT_EQ(list_checkpoints(dir), before);  // before[1] is one round after before[0]
  spec.run.steps = 2800;
  EXPECT_EQ(resume_run(spec, dir, std::nullopt, {}).params_hash, hash);
}

TEST_F(SessionTest, ResumingKeepsTheSpec) {
  const std::string dir = run_dir();
  start_run(small_spec(), dir, {});
  const std::vector<std::string> other = {"algo.batch=8"};
  EXPECT_THROW(load_run_spec(dir, other), UsageError);
  TrainSpec changed = load_run_spec(dir, {});
  changed.net.hidden = {16};
  EXPECT_THROW(resume_run(changed, dir, std::nullopt, {}), RunError);
  TrainSpec reseeded = load_run_spec(dir, {});
  ++reseeded.run.seed;
  EXPECT_THROW(resume_run(reseeded, dir, std::nullopt, {}), RunError);
  EXPECT_THROW(load_run_spec(folder_.string(), {}), UsageError);
}

TEST_F(SessionTest, ADamagedCheckpointIsNamedAndTheEarlierOneStillWorks) {
  TrainSpec spec = small_spec();
  spec.run.checkpoint_seconds = 0;
  const std::string dir = run_dir();
  const std::string hash = start_run(spec, dir, {}).params_hash;
  const std::vector<std::string> kept = list_checkpoints(dir);
  ASSERT_EQ(kept.size(), 2u);
  {
    std::fstream file(kept[1], std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(5000);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(5000);
    file.put(byte);
  }
  try {
    resume_run(spec, dir, std::nullopt, {});
    FAIL() << "a flipped bit went unnoticed";
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find(kept[1]), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("--checkpoint " + kept[0]), std::string::npos);
  }
  EXPECT_EQ(resume_run(spec, dir, kept[0], {}).params_hash, hash);
}

// The score saved with a model can be reproduced from its file alone, with the observation
// normalisation frozen.
TEST_F(SessionTest, TheModelFileReproducesItsEvaluation) {
  for (const char* variant : {"target", "normalised", "rainbow", "pqn_normalised"}) {
    SCOPED_TRACE(variant);
    const std::vector<Variant> all = variants();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == variant; });
    const std::string dir = run_dir();
    const TrainResult result = start_run(found->spec(), dir, {});
    for (const auto& [name, mean] : {std::pair{"best", result.best_return_mean},
                                     std::pair{"latest", result.eval_return_mean}}) {
      const Model model = load_model(dir + "/model-" + name + ".safetensors");
      const InputScale scale{model.input_mean.data(), model.input_factor.data()};
      EXPECT_EQ(model.input_mean.empty(), !model.spec.learn.normalise_obs);
      Evaluator evaluator(model.spec.world(), model.spec.evaluation, model.spec.run.seed,
                          model.structure, network_head(model.spec));
      ThreadTeam team(2);
      EXPECT_EQ(
          evaluator.run(model.parameters, model.input_mean.empty() ? nullptr : &scale, team).mean,
          mean)
          << name;
      EXPECT_EQ(model.greedy_return, mean);
    }
    const Model latest = load_model(dir + "/model-latest.safetensors");
    EXPECT_EQ(parameters_hash(latest.structure, latest.parameters), result.params_hash);
    EXPECT_THROW(load_model(list_checkpoints(dir).back()), RunError);  // that is not a model
  }
}

// Rounds have 24 steps: the one that passes step 200 ends at 216 with an evaluation.
TEST_F(SessionTest, AModelThatWasNeverEvaluatedSaysSo) {
  TrainSpec spec = small_spec();
  spec.learn.train_every = 24;
  spec.evaluation.every = 200;
  const std::string dir = run_dir();
  const std::atomic<bool> stop{true};
  const SessionHooks hooks{.progress = nullptr, .stop = &stop};
  TrainResult result = start_run(spec, dir, hooks);
  while (result.env_steps < 216) result = resume_run(spec, dir, std::nullopt, hooks);
  const double reached = result.eval_return_mean;
  EXPECT_GT(reached, 0);
  EXPECT_EQ(load_model(dir + "/model-latest.safetensors").greedy_return, reached);

  result = resume_run(spec, dir, std::nullopt, hooks);
  EXPECT_EQ(result.env_steps, 240);
  EXPECT_EQ(result.eval_return_mean, reached) << "the last evaluation";
  const Model latest = load_model(dir + "/model-latest.safetensors");
  EXPECT_EQ(latest.env_steps, 240);
  EXPECT_TRUE(std::isnan(latest.greedy_return));
  const Model best = load_model(dir + "/model-best.safetensors");
  EXPECT_EQ(best.env_steps, 216);
  EXPECT_EQ(best.greedy_return, reached);
}

TEST_F(SessionTest, TheThresholdItselfIsSolved) {
  TrainSpec spec = small_spec();
  const double reached = start_run(spec, run_dir(), {}).best_return_mean;
  spec.evaluation.threshold = reached;
  EXPECT_TRUE(start_run(spec, run_dir(), {}).solved);
  spec.evaluation.threshold = std::nextafter(reached, INFINITY);
  EXPECT_FALSE(start_run(spec, run_dir(), {}).solved);
}

// A run resumed with other rules is judged by the new ones.
TEST_F(SessionTest, AResumedRunIsJudgedByItsNewThreshold) {
  TrainSpec spec = small_spec();
  spec.evaluation.threshold = 0;
  spec.evaluation.stop_when_solved = true;
  const std::string dir = run_dir();
  const TrainResult early = start_run(spec, dir, {});
  ASSERT_TRUE(early.solved);
  ASSERT_LT(early.env_steps, spec.run.steps);
  spec.evaluation.threshold = 1e9;
  const TrainResult all = resume_run(spec, dir, std::nullopt, {});
  EXPECT_EQ(all.env_steps, spec.run.steps);
  EXPECT_FALSE(all.solved);
  spec.evaluation.threshold = all.eval_return_mean;
  const TrainResult lower = resume_run(spec, dir, std::nullopt, {});
  EXPECT_TRUE(lower.solved);
  EXPECT_EQ(lower.solved_env_steps, spec.run.steps);
}

TEST_F(SessionTest, AResumedRunFindsItsBestByTheNewRule) {
  TrainSpec spec = small_spec();
  spec.evaluation.best = "1000 return";
  const std::string dir = run_dir();
  start_run(spec, dir, {});
  const std::int64_t before = spec.run.steps;
  spec.run.steps *= 2;
  spec.evaluation.best = "return";
  resume_run(spec, dir, std::nullopt, {});
  EXPECT_GT(load_model(dir + "/model-best.safetensors").env_steps, before);
}

// A learning rate that grows until the learnt policy is lost.
TEST_F(SessionTest, ARunThatEndsFarBelowItsBestSaysSo) {
  const auto warnings = [&](const std::string& to) {
    const TrainSpec spec = load_spec(
        "cartpole_dqn", std::vector<std::string>{
                            "evaluation.stop_when_solved=false", "run.steps=20000",
                            "optimiser.learning_rate={kind: exponential, from: 1e-5, to: " + to +
                                ", over: 20000}"});
    std::string all;
    for (const std::string& warning : start_run(spec, run_dir(), {}).warnings)
      all += warning + "\n";
    return all;
  };
  EXPECT_NE(warnings("10").find("the greedy return fell from"), std::string::npos);
  EXPECT_EQ(warnings("1e-3").find("the greedy return fell from"), std::string::npos);
}

TEST_F(SessionTest, AnUnwritableFolderIsAnErrorThatNamesIt) {
  std::ofstream(folder_ / "file") << "not a folder";
  const std::string parent = (folder_ / "file").string();
  try {
    make_run_folder(parent, "run");
    FAIL();
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find(parent), std::string::npos);
  }
}

// With only the name of a world, the general settings learn it and still know it at the end: two
// seeds of three, because a seed sometimes falls back (docs/results.md, over many seeds).
TEST_F(SessionTest, GeneralSettingsLearn) {
  for (const auto& [world, algorithm, bar] :
       {std::tuple{"cartpole", "dqn", 400.0}, std::tuple{"cartpole", "ppo", 475.0},
        std::tuple{"cartpole", "pqn", 400.0}, std::tuple{"cartpole", "sarsa", 400.0},
        std::tuple{"acrobot", "dqn", -110.0}, std::tuple{"mountaincar", "dqn", -125.0}}) {
    TrainSpec spec = load_world_spec(world, &find_algorithm(algorithm));
    spec.evaluation.every = 0;
    std::array<double, 3> returns;
    for (std::size_t i = 0; i < returns.size(); ++i) {
      spec.run.seed = i + 1;
      returns[i] = start_run(spec, run_dir(), {}).eval_return_mean;
    }
    std::ranges::sort(returns);
    EXPECT_GE(returns[1], bar) << world << ", lowest " << returns[0] << ", highest " << returns[2];
  }
}

// Learning as learning: these ready-made specs must solve CartPole on each of three seeds. The
// figures over many seeds are in docs/results.md.
TEST_F(SessionTest, CartPoleIsLearnt) {
  for (const char* name : {"cartpole_dqn", "cartpole_ddqn_per", "cartpole_dueling", "cartpole_c51",
                           "cartpole_rainbow", "cartpole_pqn", "cartpole_sarsa"}) {
    for (std::uint64_t seed : {1u, 2u, 3u}) {
      const std::vector<std::string> overrides = {"run.seed=" + std::to_string(seed),
                                                  "evaluation.stop_when_solved=true"};
      const TrainResult result = start_run(load_spec(name, overrides), run_dir(), {});
      EXPECT_TRUE(result.solved) << name << ", seed " << seed << " reached "
                                 << result.best_return_mean;
    }
  }
}

}  // namespace
}  // namespace hotloop
