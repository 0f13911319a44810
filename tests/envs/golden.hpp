// Reads the golden trajectories that tests/envs/golden/make_golden.py writes, and replays them.
#pragma once

#include <gtest/gtest.h>
#include <hotloop/env.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/envs/world_checks.hpp"

namespace hotloop {

struct GoldenStep {
  float action = 0;  // an integer if actions are discrete
  std::vector<double> state;
  std::vector<float> obs;
  double reward = 0;
  bool terminated = false;
};

struct GoldenEpisode {
  std::string about;
  std::vector<double> start;
  std::vector<GoldenStep> steps;
};

// HOTLOOP_GOLDEN_DIR is the folder of the files, defined by tests/CMakeLists.txt.
inline std::vector<GoldenEpisode> golden_episodes(const std::string& name) {
  std::ifstream file(std::string(HOTLOOP_GOLDEN_DIR) + "/" + name + ".txt");
  EXPECT_TRUE(file.good()) << name;
  std::vector<GoldenEpisode> episodes;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "episode") {
      episodes.push_back({.about = line.substr(8), .start = {}, .steps = {}});
      continue;
    }
    if (word == "start") {
      while (words >> word) episodes.back().start.push_back(std::strtod(word.c_str(), nullptr));
      continue;
    }
    GoldenStep step{.action = std::strtof(word.c_str(), nullptr), .state = {}, .obs = {}};
    words >> word;  // the bar
    while (words >> word && word != "|") step.state.push_back(std::strtod(word.c_str(), nullptr));
    while (words >> word && word != "|") step.obs.push_back(std::strtof(word.c_str(), nullptr));
    words >> word;
    step.reward = std::strtod(word.c_str(), nullptr);
    words >> word >> word;
    step.terminated = word == "1";
    episodes.back().steps.push_back(step);
  }
  return episodes;
}

// Replays all episodes of a world and expects Gymnasium's results.
struct GoldenReplay {
  // Each step starts from the previous golden state, or (drifting) from the replay's own.
  bool drifting = true;
  double state_tolerance = 0;  // relative to the larger of 1 and the value

  // `put(W&, state, after_step)` sets a world's state as after a reset or, if `after_step`, as
  // after a step; `get(W)` returns it.
  template <class W, class Put, class Get>
  void run(const Put& put, const Get& get) const {
    int steps = 0;
    for (const GoldenEpisode& episode : golden_episodes(std::string(W::spec.name))) {
      W world;
      put(world, episode.start, false);
      for (std::size_t t = 0; t < episode.steps.size(); ++t, ++steps) {
        const GoldenStep& golden = episode.steps[t];
        if (!drifting && t > 0) put(world, episode.steps[t - 1].state, true);
        const Step step = take_step(world, golden.action);
        const std::string at = episode.about + ", step " + std::to_string(t + 1);
        EXPECT_EQ(step.terminated, golden.terminated) << at;
        expect_float(golden.reward, step.reward, at + ": reward");
        const auto state = get(world);
        ASSERT_EQ(state.size(), golden.state.size());
        for (std::size_t i = 0; i < state.size(); ++i) {
          const double scale = std::max(1.0, std::abs(golden.state[i]));
          EXPECT_NEAR(state[i], golden.state[i], state_tolerance * scale) << at << ": state " << i;
        }
        std::array<float, W::spec.obs> obs;
        world.observe(obs);
        ASSERT_EQ(obs.size(), golden.obs.size());
        for (std::size_t i = 0; i < obs.size(); ++i) {
          expect_float(golden.obs[i], obs[i], at + ": observation " + std::to_string(i));
        }
      }
    }
    EXPECT_GT(steps, 200);
  }

 private:
  // Equal after rounding to float32, or an adjacent float if the state differs slightly.
  void expect_float(double expected, float found, const std::string& what) const {
    const double scale = std::max(1.0, std::abs(expected));
    EXPECT_NEAR(found, expected, 0x1p-23 * std::abs(expected) + state_tolerance * scale) << what;
  }
};

}  // namespace hotloop
