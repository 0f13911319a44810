#include "record/checkpoint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <hotloop/error.hpp>

#include "record/json_fields.hpp"
#include "record/safetensors.hpp"
#include "tests/train/variants.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    folder_ =
        fs::temp_directory_path() / ("hotloop-checkpoint-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "checkpoints");
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TrainSpec small_spec_of(std::string_view algorithm) {
  TrainSpec spec = small_spec();
  if (algorithm != spec.algorithm->name()) become_rollout_learner(spec, algorithm);
  return spec;
}

// All numbers differ, so a swap of two fields shows.
RunRecord distinct_record() {
  RunRecord r;
  r.seconds = 101.5;
  std::iota(r.group_seconds.begin(), r.group_seconds.end(), 200.25);
  r.greedy_return = 102.5;
  r.greedy_std = 103.5;
  std::iota(r.greedy_measures.begin(), r.greedy_measures.end(), 300.25);
  r.greedy_env_steps = 104;
  r.lowest_return = 8.25;
  r.best_return = 105.5;
  r.best_score = 106.5;
  r.best_env_steps = 107;
  r.solved = true;
  r.solved_env_steps = 108;
  r.solved_seconds = 109.5;
  r.metrics_bytes = 110;
  r.episode_bytes = 111;
  r.health = {.bad = 1, .raised = 6, .had_endings = true, .warnings = {"first", "second"}};
  return r;
}

void expect_equal(const RunRecord& found, const RunRecord& wanted) {
  EXPECT_EQ(found.seconds, wanted.seconds);
  EXPECT_EQ(found.group_seconds, wanted.group_seconds);
  EXPECT_EQ(found.greedy_return, wanted.greedy_return);
  EXPECT_EQ(found.greedy_std, wanted.greedy_std);
  EXPECT_EQ(found.greedy_measures, wanted.greedy_measures);
  EXPECT_EQ(found.greedy_env_steps, wanted.greedy_env_steps);
  EXPECT_EQ(found.lowest_return, wanted.lowest_return);
  EXPECT_EQ(found.best_return, wanted.best_return);
  EXPECT_EQ(found.best_score, wanted.best_score);
  EXPECT_EQ(found.best_env_steps, wanted.best_env_steps);
  EXPECT_EQ(found.solved, wanted.solved);
  EXPECT_EQ(found.solved_env_steps, wanted.solved_env_steps);
  EXPECT_EQ(found.solved_seconds, wanted.solved_seconds);
  EXPECT_EQ(found.metrics_bytes, wanted.metrics_bytes);
  EXPECT_EQ(found.episode_bytes, wanted.episode_bytes);
  EXPECT_EQ(found.health.bad, wanted.health.bad);
  EXPECT_EQ(found.health.raised, wanted.health.raised);
  EXPECT_EQ(found.health.had_endings, wanted.health.had_endings);
  EXPECT_EQ(found.health.warnings, wanted.health.warnings);
}

// Otherwise a swap of two of them could not be seen.
void expect_all_different(const Json& state) {
  std::map<double, std::string> places;
  const Json flat = state.flatten();
  for (const auto& [place, value] : flat.items()) {
    if (!value.is_number()) continue;
    const auto [other, is_new] = places.emplace(value.get<double>(), place);
    EXPECT_TRUE(is_new) << place << " and " << other->second << " are both " << value;
  }
  EXPECT_GT(places.size(), 30u);
}

// For an algorithm that reports three numbers, and for one that reports three more.
class EveryReport : public CheckpointTest, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Checkpoint, EveryReport, testing::Values("dqn", "ppo"));

TEST_P(EveryReport, EveryNumberComesBackInItsPlace) {
  TrainSpec spec = small_spec_of(GetParam());
  const bool is_dqn = spec.algorithm->name() == "dqn";
  if (is_dqn) dqn(spec).repeats = 2;  // half as many batches as updates
  const std::vector<float> best = {1, 2, 3};
  Trainer saved(spec);
  while (saved.counters().env_steps < 480) saved.round();
  Counters counters = saved.counters();  // numbers that do not follow from others may be any
  if (!is_dqn) counters.batches = 1001;
  counters.target_updates = 1002;
  Window window = {.returns = 21.5, .episodes = 22, .updates = 29};
  const std::size_t columns = saved.learner().columns().size();
  ASSERT_EQ(columns, is_dqn ? 3u : 6u);
  std::iota(window.sums.begin(), window.sums.begin() + columns, 43.5);
  saved.restore(counters, window, {-30.5, 31.5});
  const std::string path = save_checkpoint(folder_.string(), saved, distinct_record(), best);
  expect_all_different(Json::parse(Safetensors(path).metadata("state")));

  Trainer loaded(spec);
  RunRecord record;
  std::vector<float> loaded_best(best.size());
  load_checkpoint(path, loaded, record, loaded_best);
  expect_equal(record, distinct_record());
  EXPECT_EQ(loaded_best, best);
  EXPECT_EQ(loaded.rewards().lowest, -30.5);
  EXPECT_EQ(loaded.rewards().highest, 31.5);
  EXPECT_EQ(loaded.counters().env_steps, counters.env_steps);
  EXPECT_EQ(loaded.counters().updates, counters.updates);
  EXPECT_EQ(loaded.counters().episodes, counters.episodes);
  EXPECT_EQ(loaded.counters().train_events, counters.train_events);
  EXPECT_EQ(loaded.counters().batches, counters.batches);
  EXPECT_EQ(loaded.counters().target_updates, counters.target_updates);
  EXPECT_EQ(loaded.window().returns, window.returns);
  EXPECT_EQ(loaded.window().episodes, window.episodes);
  EXPECT_EQ(loaded.window().sums, window.sums);
  EXPECT_EQ(loaded.window().updates, window.updates);
}

// Before the first evaluation the values are unknown, and are not written as zeros.
TEST_P(EveryReport, UnknownValuesStayUnknown) {
  const TrainSpec spec = small_spec_of(GetParam());
  Trainer saved(spec);
  const std::size_t columns = saved.learner().columns().size();
  Window window;
  std::fill_n(window.sums.begin(), columns, kNone);
  saved.restore({}, window, {});
  const std::string path = save_checkpoint(folder_.string(), saved, {}, {});
  Trainer loaded(spec);
  RunRecord record = distinct_record();
  load_checkpoint(path, loaded, record, {});
  for (const double unknown : {record.greedy_return, record.greedy_std, record.best_return,
                               record.best_score, record.solved_seconds}) {
    EXPECT_TRUE(std::isnan(unknown));
  }
  for (std::size_t i = 0; i < columns; ++i) EXPECT_TRUE(std::isnan(loaded.window().sums[i])) << i;
  EXPECT_FALSE(record.solved);
  EXPECT_FALSE(record.health.had_endings);
  EXPECT_TRUE(record.health.warnings.empty());
}

// Its content could be read; only its format version is older.
TEST_F(CheckpointTest, AnOlderFormatIsRefusedByName) {
  Trainer saved(small_spec());
  saved.restore({.env_steps = 8}, {}, {});
  const std::string path = save_checkpoint(folder_.string(), saved, {}, {});
  const std::string current = "hotloop-checkpoint-9", older = "hotloop-checkpoint-8";
  std::string spec, state;
  {
    const Safetensors file(path);
    ASSERT_EQ(file.metadata("format"), current);
    spec = file.metadata("spec");
    state = file.metadata("state");
  }
  const std::vector<float> best(1);
  const std::vector<TensorView> tensors = {tensor("best", std::span<const float>(best))};
  write_safetensors(path, tensors, {{"format", older}, {"spec", spec}, {"state", state}});

  Trainer loaded(small_spec());
  RunRecord record;
  try {
    load_checkpoint(path, loaded, record, {});
    FAIL() << "accepted";
  } catch (const RunError& error) {
    EXPECT_EQ(error.what(),
              path + ": format '" + older + "', this version reads '" + current + "'");
  }
  EXPECT_EQ(loaded.counters().env_steps, 0) << "nothing of it was taken";
}

}  // namespace
}  // namespace hotloop
