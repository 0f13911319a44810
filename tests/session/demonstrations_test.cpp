#include "session/demonstrations.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <hotloop/error.hpp>

#include "algo/dqn/learner.hpp"
#include "core/file.hpp"
#include "record/checkpoint.hpp"
#include "session/earlier_run.hpp"
#include "session/session.hpp"
#include "tests/memory/random_demonstrations.hpp"
#include "tests/train/small_spec.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class DemonstrationsTest : public testing::Test {
 protected:
  DemonstrationsTest() {
    folder_ =
        fs::temp_directory_path() / ("hotloop-demonstrations-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = (folder_ / "demo.safetensors").string();
  }
  ~DemonstrationsTest() override { fs::remove_all(folder_); }

  // Random play, recorded.
  TransitionFile record(const TrainSpec& spec, int episodes, std::int64_t max_steps = 1'000) {
    TransitionFile file{recorded_name(spec.env), {}};
    EvaluationOptions options;
    options.episodes = episodes;
    options.max_steps = max_steps;
    ThreadTeam team(1);
    evaluate_script(0, spec.world(), options, 3, team, &file.transitions);
    save_transitions(file_, file);
    return file;
  }
  TrainSpec demonstrated_spec() {
    TrainSpec spec = small_spec();
    spec.learn.demonstrations = file_;
    return spec;
  }
  std::string refusal(TrainSpec spec) {
    try {
      read_demonstrations(spec);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
  std::string file_;
};

// The transitions are data from the first round on, but no env steps.
TEST_F(DemonstrationsTest, AreInTheReplayBeforeTraining) {
  TrainSpec spec = demonstrated_spec();
  const TransitionFile file = record(spec, 12);
  const std::int64_t steps = demonstration_steps(file.transitions.size(), 4);
  ASSERT_GT(steps, 40);
  Trainer trainer(spec, &file.transitions);
  const Replay& replay = dynamic_cast<DqnLearner&>(trainer.learner()).replay();
  EXPECT_EQ(replay.size(), 4 * steps);
  EXPECT_EQ(trainer.counters().env_steps, 0);
  EXPECT_EQ(trainer.rewards().highest, 1);
  trainer.round();
  EXPECT_EQ(replay.size(), 4 * steps + 8);
  EXPECT_EQ(trainer.counters().env_steps, 8);
  EXPECT_EQ(trainer.counters().updates, 0) << "learning_starts counts env steps";
  while (trainer.counters().updates == 0) trainer.round();
  EXPECT_EQ(trainer.counters().env_steps, 208);
  EXPECT_EQ(trainer.counters().target_updates, 208 / 64);
}

TEST_F(DemonstrationsTest, StatisticsSeeEachObservationOnce) {
  TrainSpec spec = demonstrated_spec();
  spec.learn.normalise_obs = true;
  const TransitionFile file = record(spec, 12);
  Trainer trainer(spec, &file.transitions);
  double count = 0;
  trainer.learner().visit([&](const std::string& name, Array array, const Limits&) {
    if (name == "normaliser.obs.count") count = std::get<std::span<double>>(array)[0];
  });
  EXPECT_EQ(count,
            4.0 * (static_cast<double>(demonstration_steps(file.transitions.size(), 4)) + 1));
}

// The file is needed only at the beginning. Cut after 7 steps, its truncations are closer to each
// other than those of the environment.
TEST_F(DemonstrationsTest, AStoppedRunEqualsOneThatWasNot) {
  for (const char* change : {"", "prioritised", "truncation_ends", "pipelined"}) {
    SCOPED_TRACE(change);
    const std::string what = change;
    TrainSpec spec = demonstrated_spec();
    spec.run.steps = 480;
    spec.learn.learning_starts = 100;
    spec.learn.train_every = 24;
    dqn(spec).replay.capacity = 640;
    dqn(spec).n_step = 3;
    dqn(spec).replay.prioritised = what == "prioritised";
    dqn(spec).truncation_ends = what == "truncation_ends";
    spec.learn.pipelined = what == "pipelined";
    spec.learn.normalise_obs = spec.learn.normalise_rewards = true;
    record(spec, 60, 7);
    const std::string straight = make_run_folder(folder_.string(), "run");
    const TrainResult expected = start_run(spec, straight, {});
    EXPECT_GT(expected.updates, 0);

    const std::atomic<bool> stop{true};
    const SessionHooks hooks{.stop = &stop};
    const std::string split = make_run_folder(folder_.string(), "run");
    TrainResult result = start_run(spec, split, hooks);
    ASSERT_TRUE(result.interrupted);
    fs::remove(file_);
    fs::remove(split + "/demonstrations.safetensors");
    int sessions = 1;
    for (; result.interrupted; ++sessions) {
      result = resume_run(load_run_spec(split, {}), split, std::nullopt, hooks);
    }
    EXPECT_GE(sessions, 20);
    EXPECT_EQ(result.params_hash, expected.params_hash);
    EXPECT_EQ(result.episodes, expected.episodes);
  }
}

// Neither its name nor its place counts; the run folder has a copy to train again from.
TEST_F(DemonstrationsTest, OnlyTheContentDecides) {
  TrainSpec spec = demonstrated_spec();
  spec.run.steps = 800;
  TransitionFile file = record(spec, 12);
  const std::string first = make_run_folder(folder_.string(), "run");
  const std::string hash = start_run(spec, first, {}).params_hash;

  const TrainSpec again = load_spec(first + "/spec.yaml");
  EXPECT_EQ(again.learn.demonstrations, first + "/demonstrations.safetensors");
  EXPECT_EQ(again.learn.demonstrations_hash, transitions_hash(file));
  const std::string second = make_run_folder(folder_.string(), "run");
  EXPECT_EQ(start_run(again, second, {}).params_hash, hash);
  EXPECT_EQ(read_file(first + "/spec.yaml").text(), read_file(second + "/spec.yaml").text());

  const std::string third = make_run_folder(folder_.string(), "run");
  file.transitions.rewards[0] += 0.5f;
  save_transitions(file_, file);
  EXPECT_NE(start_run(spec, third, {}).params_hash, hash);
}

TEST_F(DemonstrationsTest, AFileThatHasChangedIsNoticed) {
  TrainSpec spec = demonstrated_spec();
  spec.run.steps = 400;
  TransitionFile file = record(spec, 12);
  ASSERT_TRUE(read_demonstrations(spec));
  const std::string hash = spec.learn.demonstrations_hash;
  spec.name = "run";
  start_run(spec, make_run_folder(folder_.string(), "run"), {});
  EXPECT_TRUE(find_earlier_run(folder_.string(), spec, {}));
  file.transitions.rewards[0] += 0.5f;
  save_transitions(file_, file);
  EXPECT_EQ(refusal(spec), "replay.demonstrations: " + file_ +
                               " has changed: the hash of its content is " +
                               transitions_hash(file) + "; replay.demonstrations_hash is " + hash);
  spec.learn.demonstrations_hash = "";
  ASSERT_TRUE(read_demonstrations(spec));
  EXPECT_FALSE(find_earlier_run(folder_.string(), spec, {}));
}

TEST_F(DemonstrationsTest, WhatDoesNotFitIsRefused) {
  TrainSpec spec = demonstrated_spec();
  EXPECT_NE(refusal(spec).find("replay.demonstrations: "), std::string::npos) << "no file";
  const std::int64_t size = record(spec, 12).transitions.size();
  EXPECT_EQ(refusal(spec), "");

  TrainSpec other = spec;
  other.env = "acrobot";
  EXPECT_EQ(refusal(other), "replay.demonstrations: " + file_ +
                                " was recorded in cartpole; this run is on acrobot");
  other = spec;
  const std::int64_t needed = (size + 3) / 4 * 4;
  dqn(other).replay.capacity = needed - 4;
  const std::string text = refusal(other);
  EXPECT_TRUE(text.starts_with("replay.capacity: " + std::to_string(needed - 4) +
                               " is less than the " + std::to_string(size) + " transitions of " +
                               file_))
      << text;
  EXPECT_TRUE(text.ends_with("; allowed: at least " + std::to_string(needed))) << text;
  dqn(other).replay.capacity = needed;
  EXPECT_EQ(refusal(other), "");

  TransitionFile box{"cartpole", {}};
  box.transitions = random_demonstrations(
      {.obs = 4, .actions = 0, .action_size = 1, .action_low = {-2}, .action_high = {2}}, 3, 1);
  save_transitions(file_, box);
  EXPECT_EQ(refusal(spec),
            "replay.demonstrations: " + file_ +
                " has observations of 4 numbers and continuous actions from [-2] to [2]; cartpole "
                "has observations of 4 numbers and 2 discrete actions without masks");
  write_file_atomically(file_, "nonsense");
  EXPECT_TRUE(
      refusal(spec).starts_with("replay.demonstrations: " + file_ + ": not a safetensors file"));
}

// The greedy return after a few thousand steps, with and without 15 episodes of a trained agent.
TEST_F(DemonstrationsTest, TheyHelpToLearn) {
  const TrainSpec solved = load_spec("cartpole_dqn", std::vector<std::string>{"run.seed=1"});
  Trainer teacher(solved);
  while (teacher.counters().env_steps < 11'000) teacher.round();
  EvaluationOptions options;
  options.episodes = 15;
  ThreadTeam team(1);
  TransitionFile file{"cartpole", {}};
  Evaluator evaluator(solved.world(), options, 1, teacher.network().structure(),
                      network_head(solved));
  const double taught = evaluator
                            .run(teacher.network().online(), teacher.network().scale(), team, false,
                                 &file.transitions)
                            .mean;
  ASSERT_GT(taught, 400);

  const auto train = [&](std::uint64_t seed, const Demonstrations* demonstrations) {
    TrainSpec spec =
        load_spec("cartpole_dqn",
                  std::vector<std::string>{"algo.n_step=5", "algo.updates_per_step=1",
                                           "algo.learning_starts=0", "replay.capacity=20000"});
    spec.run.seed = seed;
    if (demonstrations != nullptr) spec.learn.demonstrations = "given";
    Trainer trainer(spec, demonstrations);
    while (trainer.counters().env_steps < 3'000) trainer.round();
    options.episodes = 40;
    Evaluator judge(spec.world(), options, 99, trainer.network().structure(), network_head(spec));
    return judge.run(trainer.network().online(), nullptr, team).mean;
  };
  double with = 0, without = 0;
  int better = 0;
  constexpr int kSeeds = 8;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double one = train(seed, &file.transitions), other = train(seed, nullptr);
    with += one / kSeeds;
    without += other / kSeeds;
    better += one > other ? 1 : 0;
  }
  std::printf(
      "greedy return after 3,000 steps: %.0f with demonstrations, %.0f without; better on "
      "%d of %d seeds\n",
      with, without, better, kSeeds);
  EXPECT_GT(with, without + 40);
  EXPECT_GE(better, 5);
}

// Continuous actions are handed over in the units of the environment: [-2, 2].
TEST_F(DemonstrationsTest, ContinuousActionsAreConvertedByTheLearner) {
  for (const char* name : {"pendulum_sac", "pendulum_td3"}) {
    SCOPED_TRACE(name);
    TrainSpec spec =
        load_spec(name, std::vector<std::string>{"net.hidden=[16]", "algo.batch=16",
                                                 "algo.learning_starts=100", "run.steps=400"});
    spec.envs = 2;
    spec.learn.train_every = 2;
    spec.evaluation.every = 0;
    spec.evaluation.episodes = 2;
    spec.learn.demonstrations = file_;
    const TransitionFile file = record(spec, 3);
    const std::vector<float>& actions = file.transitions.continuous_actions;
    ASSERT_GT(*std::max_element(actions.begin(), actions.end()), 1.5f);
    const std::int64_t steps = demonstration_steps(file.transitions.size(), 2);
    Trainer trainer(spec, &file.transitions);
    int seen = 0;
    trainer.learner().visit([&](const std::string& array, Array values, const Limits&) {
      if (array != "replay.continuous_actions") return;
      const std::span<float> stored = std::get<std::span<float>>(values);
      for (std::int64_t t = 0; t < steps; ++t, ++seen) {
        ASSERT_FLOAT_EQ(stored[2 * t], actions[t] / 2);
        ASSERT_FLOAT_EQ(stored[2 * t + 1], actions[file.transitions.size() / 2 + t] / 2);
      }
    });
    EXPECT_EQ(seen, steps);

    const std::string straight = make_run_folder(folder_.string(), "run");
    const TrainResult expected = start_run(spec, straight, {});
    EXPECT_GT(expected.updates, 0);
    std::atomic<bool> stop{true};
    const std::string split = make_run_folder(folder_.string(), "run");
    TrainResult result = start_run(spec, split, {.stop = &stop});
    fs::remove(file_);
    for (int i = 0; i < 5; ++i) {
      result = resume_run(load_run_spec(split, {}), split, std::nullopt, {.stop = &stop});
      EXPECT_TRUE(result.interrupted);
    }
    result = resume_run(load_run_spec(split, {}), split, std::nullopt, {});
    EXPECT_EQ(result.params_hash, expected.params_hash);
    TrainSpec plain = spec;
    plain.learn.demonstrations = "";
    const std::string other = make_run_folder(folder_.string(), "run");
    EXPECT_NE(start_run(plain, other, {}).params_hash, expected.params_hash);
  }
}

TEST_F(DemonstrationsTest, AForgedCheckpointCannotMoveTheBorder) {
  TrainSpec spec = demonstrated_spec();
  const TransitionFile file = record(spec, 12);
  Trainer trainer(spec, &file.transitions);
  trainer.round();
  const auto set = [&](std::string_view wanted, std::int64_t value) {
    trainer.learner().visit([&](const std::string& name, Array array, const Limits&) {
      if (name == wanted) std::get<std::span<std::int64_t>>(array)[0] = value;
    });
  };
  const std::int64_t steps = demonstration_steps(file.transitions.size(), 4);
  trainer.learner().restored(trainer.counters());
  for (const std::int64_t wrong : {std::int64_t{0}, steps - 1, steps + 1}) {
    set("replay.demonstrated", wrong);
    EXPECT_THROW(trainer.learner().restored(trainer.counters()), RunError) << wrong;
  }
}

}  // namespace
}  // namespace hotloop
