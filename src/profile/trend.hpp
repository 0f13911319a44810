// How a run changes while it runs: does it become slower, and why?
//
// Samples of the running totals are turned into windows between them. A change is told from noise by
// the Mann-Kendall test (each window against each later one), its size by the Theil-Sen slope (the
// median over all pairs): neither minds a window in which the machine was busy elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/phase_clock.hpp"

namespace hotloop {

// Totals since the beginning of the profile.
struct Sample {
  double seconds = 0;
  std::int64_t env_steps = 0, updates = 0, episodes = 0;
  std::int64_t resident_bytes = 0;
  std::int64_t allocations = 0;
  PhaseSeconds phases{};
  // Phases of rounds, times this, are what the rounds that the clock split took, each counted as often
  // as it stands for. Few of these are interrupted even where another process has half of the CPU.
  double split_scale = 1;
  double queue_seconds = 0;  // in which there was no CPU for the first thread
  double team_span = 0;      // seconds that work shared among threads took, in those rounds
  double team_work = 0;      // of all threads in it
};

// A line through points that minds no outliers.
struct Slope {
  double first = 0, last = 0;  // the line at the first and the last x
  double per_x = 0;
  double z = 0;  // of the Mann-Kendall test: beyond +-3.3 one chance in a thousand
};
Slope robust_slope(const std::vector<double>& x, const std::vector<double>& y);

struct Trend {
  bool known = false;  // there were enough windows
  Slope us_per_step;   // of rounds: without evaluation, logs and checkpoints
  bool slower = false, faster = false;
  // The phase that changed most, "env/step", or the group, "env"; empty if all changed alike.
  std::string because;
  double because_first = 0, because_last = 0;  // its us per step
  Slope episode_length;  // first, last: medians of the first and the last quarter
  bool longer_episodes = false;
  Slope resident;  // bytes over env steps
  bool growing_memory = false;
  std::string text;  // "steady", "falling 3 % per 10^6 steps because env/step grew from ... to ..."
};

Trend find_trend(const std::vector<Sample>& samples);

}  // namespace hotloop
