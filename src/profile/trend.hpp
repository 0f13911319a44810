// How the speed of a run changes: does it become slower, and why?
//
// The differences between successive samples of the running totals form windows. A change is
// distinguished from noise by the Mann-Kendall test (each window against each later one), and
// measured by the Theil-Sen slope (the median over all pairs). Both are robust against a few
// windows in which the machine was busy elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/phase_clock.hpp"

namespace hotloop {

// Totals since the start of the profile.
struct Sample {
  double seconds = 0;
  std::int64_t env_steps = 0, updates = 0, episodes = 0;
  std::int64_t resident_bytes = 0;
  std::int64_t allocations = 0;
  PhaseSeconds phases{};
  // Times of the phases in rounds, multiplied by this, are the weighted times of the rounds that
  // the clock split. Few of these are interrupted, even if another process has half of the CPU.
  double split_scale = 1;
  double queue_seconds = 0;  // in which the first thread had no CPU
  double team_span = 0;      // seconds in which threads shared work, in those rounds
  double team_work = 0;      // seconds of work in it, summed over threads
};

// A line fitted to points, robust against outliers.
struct Slope {
  double first = 0, last = 0;  // the line at the first and the last x
  double per_x = 0;
  double z = 0;  // of the Mann-Kendall test: noise exceeds +-3.3 once in a thousand times
};
Slope robust_slope(const std::vector<double>& x, const std::vector<double>& y);

struct Trend {
  bool known = false;  // there were enough windows
  Slope us_per_step;   // of rounds, without evaluation, logs and checkpoints
  bool slower = false, faster = false;
  // The phase ("env/step") or group ("env") that changed most; empty if all changed alike.
  std::string because;
  double because_first = 0, because_last = 0;  // its us per step
  Slope episode_length;  // first and last are medians of the first and last quarter
  bool longer_episodes = false;
  Slope resident;  // bytes over env steps
  bool growing_memory = false;
  std::string text;  // "steady", "falling 3 % per 10^6 steps because env/step grew from ... to ..."
};

Trend find_trend(const std::vector<Sample>& samples);

}  // namespace hotloop
