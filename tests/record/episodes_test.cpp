// Budgets of episodes, and the episode log.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "algo/common/rounds.hpp"
#include "spec/spec.hpp"
#include "tests/spec/spec_text.hpp"
#include "tests/train/small_spec.hpp"
#include "train/episode_log.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

TEST(EpisodeLog, KnowsTheRunAndItsLastHundredEpisodes) {
  EpisodeLog log;
  EXPECT_TRUE(std::isnan(log.mean(EpisodeLog::kReturn)));
  EXPECT_TRUE(std::isnan(log.largest(EpisodeLog::kReturn)));
  EXPECT_TRUE(std::isnan(log.mean_of_last(EpisodeLog::kReturn)));
  log.add({.total_return = -7, .length = 3, .measures = {2}});
  EXPECT_EQ(log.largest(EpisodeLog::kReturn), -7);
  for (int i = 0; i < 250; ++i) {
    log.add({.total_return = 1.0 * i, .length = 2, .measures = {static_cast<float>(i % 40)}});
  }
  EXPECT_EQ(log.mean(EpisodeLog::kReturn), (249.0 * 250 / 2 - 7) / 251);
  EXPECT_EQ(log.mean_of_last(EpisodeLog::kReturn), (150.0 + 249.0) / 2);
  EXPECT_EQ(log.largest(EpisodeLog::kLength), 3);
  EXPECT_EQ(log.largest(EpisodeLog::kMeasures), 39);
  EXPECT_EQ(log.mean_of_last(EpisodeLog::kMeasures), (10 * 34.5 + 80 * 19.5 + 10 * 4.5) / 100);
}

// Measures that are undefined in an episode are left out of means.
TEST(EpisodeLog, LeavesOutUndefinedMeasures) {
  EpisodeLog log;
  const float nothing = std::nanf("");
  log.add({.total_return = 1, .length = 1, .measures = {nothing, nothing}});
  EXPECT_TRUE(std::isnan(log.mean(EpisodeLog::kMeasures)));
  EXPECT_TRUE(std::isnan(log.largest(EpisodeLog::kMeasures)));
  EXPECT_TRUE(std::isnan(log.mean_of_last(EpisodeLog::kMeasures)));
  for (const float value : {-4.0f, nothing, -2.0f})
    log.add({.total_return = 1, .length = 1, .measures = {value, nothing}});
  EXPECT_EQ(log.mean(EpisodeLog::kMeasures), -3);
  EXPECT_EQ(log.mean_of_last(EpisodeLog::kMeasures), -3);
  EXPECT_EQ(log.largest(EpisodeLog::kMeasures), -2);
  EXPECT_TRUE(std::isnan(log.mean(EpisodeLog::kMeasures + 1)));
  EXPECT_EQ(log.mean(EpisodeLog::kReturn), 1);
}

TEST(EpisodeBudget, EndsTheRunAfterTheRoundThatReachesIt) {
  TrainSpec spec = small_spec();
  spec.run.episodes = 30;
  spec.run.steps = kNoLimit;
  Trainer trainer(spec);
  std::int64_t before = 0;
  while (!trainer.done()) {
    before = trainer.counters().episodes;
    trainer.round();
  }
  EXPECT_LT(before, 30);
  EXPECT_GE(trainer.counters().episodes, 30);
  EXPECT_EQ(trainer.counters().updates, declared_updates(spec, trainer.counters().env_steps));
}

TEST(EpisodeBudget, StepsAreUnlimitedUnlessGiven) {
  EXPECT_EQ(read("env: {name: cartpole}\nrun: {episodes: 10}").run.steps, kNoLimit);
  EXPECT_EQ(read("env: {name: cartpole}\nrun: {episodes: 10, steps: 2000}").run.steps, 2000);
  EXPECT_EQ(read("env: {name: cartpole}").run.steps, 50'000);
}

TEST(SpecEnvOptions, AreReadAsWrittenInTheOrderOfTheirNames) {
  const TrainSpec spec = load_spec_text("env: {name: cartpole, options: {obs: flood, grid: 10}}",
                                        "x.yaml", std::vector<std::string>{"env.options.grid=15"});
  EXPECT_EQ(spec.env_options, (EnvOptions{{"grid", "15"}, {"obs", "flood"}}));
  const TrainSpec nested = read("env: {name: cartpole}", {"env.options.food.grid=15"});
  EXPECT_EQ(nested.env_options, (EnvOptions{{"food.grid", "15"}})) << "not the option grid";
  EXPECT_EQ(load_spec_text(to_yaml(spec), "x").env_options, spec.env_options);
}

TEST(SpecEnvOptions, MistakesAreNamed) {
  EXPECT_EQ(complaint("env: {name: cartpole, options: 5}"),
            "1: env.options: expected a mapping with keys such as grid, found 5");
  EXPECT_EQ(complaint("env: {name: cartpole, options: {grid: [1]}}"),
            "1: env.options.grid: expected a number or a word, found a list");
  EXPECT_EQ(complaint("env: {name: cartpole, options: {grid: 1, grid: 2}}"),
            "1: env.options.grid: given twice");
  EXPECT_EQ(complaint("env: {name: cartpole}", {"env.options=7"}),
            "--set env.options=7: env.options: expected a mapping with keys such as grid, found 7");
  EXPECT_EQ(complaint("env: {name: cartpole, options: {}}"), "accepted");
}

TEST(EnvOptions, MistakesAreNamed) {
  static constexpr std::array<EnvOption, 3> kOptions = {
      integer_option("grid", 10, 4, 32, "cells"),
      number_option("reward", -1, -100, 100, "each step"),
      word_option("obs", {"basic", "flood"}, 0, "what is seen")};
  static constexpr EnvSpec kSpec{.name = "maze"};
  const EnvEntry entry{.spec = &kSpec, .options = kOptions};
  const auto error = [&](const EnvOptions& options) -> std::string {
    try {
      option_values(entry, options);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(option_values(entry, {}), (std::vector<double>{10, -1, 0}));
  EXPECT_EQ(option_values(entry, {{"grid", "4"}, {"obs", "flood"}, {"reward", "2.5e1"}}),
            (std::vector<double>{4, 25, 1}));
  EXPECT_EQ(error({{"gird", "5"}}),
            "env.options.gird: maze has no such option; did you mean grid? (allowed: grid, reward, "
            "obs)");
  for (const char* text : {"3", "33", "10.5", "ten", "1e", "nan"}) {
    EXPECT_EQ(error({{"grid", text}}),
              fmt::format("env.options.grid: found {}; allowed: integer, 4 to 32", text));
  }
  EXPECT_EQ(error({{"obs", "flod"}}),
            "env.options.obs: found flod; did you mean flood? allowed: one of basic, flood");
  EXPECT_EQ(error({{"reward", "inf"}}),
            "env.options.reward: found inf; allowed: number, -100 to 100");
}

}  // namespace
}  // namespace hotloop
