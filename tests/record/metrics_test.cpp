#include "record/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "core/json.hpp"
#include "tests/train/variants.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class MetricsTest : public testing::Test {
 protected:
  explicit MetricsTest(const TrainSpec& spec = small_spec()) : trainer_(spec) {
    while (trainer_.counters().env_steps < 400) trainer_.round();  // states to examine
  }
  ~MetricsTest() override { fs::remove(path_); }

  // A window with these sums of the values that updates report, by name.
  Window with_sums(Window window, const std::map<std::string_view, double>& sums) const {
    const std::vector<std::string_view> columns = trainer_.learner().columns();
    EXPECT_EQ(sums.size(), columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) window.sums[i] = sums.at(columns[i]);
    return window;
  }

  // The row written at these counters when the window has these sums.
  Json row(const Counters& counters, const Window& window, double seconds) {
    trainer_.restore(counters, window, {0, 1});
    record_.seconds = seconds;
    log_.write(trainer_, record_);
    return Json::parse(log_.latest());
  }

  std::string path_ =
      fs::temp_directory_path() / ("hotloop-metrics-" + std::to_string(getpid()) + "-" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
  Trainer trainer_;
  RunRecord record_;
  MetricsLog log_{path_, RunOptions{}};
};

TrainSpec small_ppo() {
  TrainSpec spec = small_spec();
  become_rollout_learner(spec, "ppo");
  return spec;
}

class PpoMetricsTest : public MetricsTest {
 protected:
  PpoMetricsTest() : MetricsTest(small_ppo()) {}
};

// By hand: 3 episodes, 4 updates.
TEST_F(MetricsTest, MeansAreOverTheEpisodesAndUpdatesOfTheWindow) {
  const Json found = row({.env_steps = 400, .updates = 100, .episodes = 20},
                         with_sums({.returns = 30, .episodes = 3, .updates = 4},
                                   {{"loss", 8}, {"mean_q", 12}, {"gradient_norm", 20}}),
                         10);
  EXPECT_EQ(found.at("env_steps"), 400);
  EXPECT_EQ(found.at("updates"), 100);
  EXPECT_EQ(found.at("episodes"), 20);
  EXPECT_DOUBLE_EQ(found.at("exploring_return"), 10);
  EXPECT_DOUBLE_EQ(found.at("loss"), 2);
  EXPECT_DOUBLE_EQ(found.at("mean_q"), 3);
  EXPECT_DOUBLE_EQ(found.at("gradient_norm"), 5);
}

TEST_F(PpoMetricsTest, MeansAreOverTheUpdatesOfTheWindow) {
  const Json found =
      row({.env_steps = 400, .updates = 100, .episodes = 20},
          with_sums({.returns = 30, .episodes = 3, .updates = 4}, {{"loss", 8},
                                                                   {"mean_q", 12},
                                                                   {"gradient_norm", 20},
                                                                   {"entropy", 2},
                                                                   {"kl", 1},
                                                                   {"clipped", 3}}),
          10);
  EXPECT_DOUBLE_EQ(found.at("exploring_return"), 10);
  EXPECT_DOUBLE_EQ(found.at("loss"), 2);
  EXPECT_DOUBLE_EQ(found.at("mean_q"), 3);
  EXPECT_DOUBLE_EQ(found.at("gradient_norm"), 5);
  EXPECT_DOUBLE_EQ(found.at("entropy"), 0.5);
  EXPECT_DOUBLE_EQ(found.at("kl"), 0.25);
  EXPECT_DOUBLE_EQ(found.at("clipped"), 0.75);
}

// A row has the columns of its algorithm, and the schedules that are in force.
TEST_F(MetricsTest, ColumnsAreThoseOfTheAlgorithm) {
  const Json found = row({.env_steps = 400}, {}, 10);
  EXPECT_DOUBLE_EQ(found.at("epsilon"), 1 - 0.95 * 400 / 10'000);
  EXPECT_DOUBLE_EQ(found.at("learning_rate"), trainer_.spec().optimiser.learning_rate.from);
  for (const char* other : {"entropy", "kl", "clipped", "ent_coef", "temperature", "beta"}) {
    EXPECT_FALSE(found.contains(other)) << other;
  }
}

TEST_F(PpoMetricsTest, ColumnsAreThoseOfTheAlgorithm) {
  const Json found = row({.env_steps = 400}, {}, 10);
  EXPECT_DOUBLE_EQ(found.at("ent_coef"), 0);
  EXPECT_DOUBLE_EQ(found.at("learning_rate"), trainer_.spec().optimiser.learning_rate.from);
  for (const char* other : {"epsilon", "temperature", "beta"}) {
    EXPECT_FALSE(found.contains(other)) << other;
  }
}

// A row reports only what happened since the previous row.
TEST_F(MetricsTest, ARowClearsTheWindow) {
  row({.env_steps = 400},
      with_sums({.returns = 30, .episodes = 3, .updates = 4},
                {{"loss", 8}, {"mean_q", 12}, {"gradient_norm", 20}}),
      10);
  EXPECT_EQ(trainer_.window().returns, 0);
  EXPECT_EQ(trainer_.window().episodes, 0);
  EXPECT_EQ(trainer_.window().sums, Window{}.sums);
  EXPECT_EQ(trainer_.window().updates, 0);
  record_.seconds = 11;
  log_.write(trainer_, record_);
  const Json next = Json::parse(log_.latest());
  EXPECT_TRUE(next.at("exploring_return").is_null());
  EXPECT_TRUE(next.at("loss").is_null());
}

TEST_F(MetricsTest, SpeedsAreSinceThePreviousRow) {
  const Json first = row({.env_steps = 400, .updates = 100}, {}, 10);
  EXPECT_TRUE(first.at("env_steps_per_second").is_null());
  EXPECT_TRUE(first.at("updates_per_second").is_null());
  const Json second = row({.env_steps = 500, .updates = 160}, {}, 12);
  EXPECT_DOUBLE_EQ(second.at("env_steps_per_second"), 50);
  EXPECT_DOUBLE_EQ(second.at("updates_per_second"), 30);
  const Json third = row({.env_steps = 540, .updates = 168}, {}, 16);
  EXPECT_DOUBLE_EQ(third.at("env_steps_per_second"), 10);
  EXPECT_DOUBLE_EQ(third.at("updates_per_second"), 2);
}

}  // namespace
}  // namespace hotloop
