#include "record/checkpoint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "tests/train/small_spec.hpp"

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

// No two numbers are the same, so one in another's place shows.
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

TEST_F(CheckpointTest, EveryNumberComesBackInItsPlace) {
  const Counters counters = {.env_steps = 11,
                             .updates = 12,
                             .episodes = 13,
                             .train_events = 14,
                             .batches = 15,
                             .target_updates = 16};
  const Window window = {.returns = 21.5,
                         .episodes = 22,
                         .loss = 23.5,
                         .mean_q = 24.5,
                         .gradient_norm = 25.5,
                         .entropy = 26.5,
                         .kl = 27.5,
                         .clipped = 28.5,
                         .updates = 29};
  const std::vector<float> best = {1, 2, 3};
  Trainer saved(small_spec());
  saved.restore(counters, window, {-30.5, 31.5});
  const std::string path = save_checkpoint(folder_.string(), saved, distinct_record(), best);

  Trainer loaded(small_spec());
  RunRecord record;
  std::vector<float> loaded_best(best.size());
  load_checkpoint(path, loaded, record, loaded_best);
  expect_equal(record, distinct_record());
  EXPECT_EQ(loaded_best, best);
  EXPECT_EQ(loaded.rewards().least, -30.5);
  EXPECT_EQ(loaded.rewards().most, 31.5);
  EXPECT_EQ(loaded.counters().env_steps, counters.env_steps);
  EXPECT_EQ(loaded.counters().updates, counters.updates);
  EXPECT_EQ(loaded.counters().episodes, counters.episodes);
  EXPECT_EQ(loaded.counters().train_events, counters.train_events);
  EXPECT_EQ(loaded.counters().batches, counters.batches);
  EXPECT_EQ(loaded.counters().target_updates, counters.target_updates);
  EXPECT_EQ(loaded.window().returns, window.returns);
  EXPECT_EQ(loaded.window().episodes, window.episodes);
  EXPECT_EQ(loaded.window().loss, window.loss);
  EXPECT_EQ(loaded.window().mean_q, window.mean_q);
  EXPECT_EQ(loaded.window().gradient_norm, window.gradient_norm);
  EXPECT_EQ(loaded.window().entropy, window.entropy);
  EXPECT_EQ(loaded.window().kl, window.kl);
  EXPECT_EQ(loaded.window().clipped, window.clipped);
  EXPECT_EQ(loaded.window().updates, window.updates);
}

// Before the first evaluation there is nothing to say, and no zeros are made of that.
TEST_F(CheckpointTest, WhatIsNotKnownStaysUnknown) {
  Trainer saved(small_spec());
  saved.restore({.env_steps = 8}, {.entropy = kNone, .kl = kNone, .clipped = kNone}, {});
  const std::string path = save_checkpoint(folder_.string(), saved, {}, {});
  Trainer loaded(small_spec());
  RunRecord record = distinct_record();
  load_checkpoint(path, loaded, record, {});
  for (const double unknown : {record.greedy_return, record.greedy_std, record.best_return,
                               record.best_score, record.solved_seconds, loaded.window().entropy,
                               loaded.window().kl, loaded.window().clipped}) {
    EXPECT_TRUE(std::isnan(unknown));
  }
  EXPECT_FALSE(record.solved);
  EXPECT_FALSE(record.health.had_endings);
  EXPECT_TRUE(record.health.warnings.empty());
}

}  // namespace
}  // namespace hotloop
