// Progress and results of a run, shared by metrics, progress bar and checkpoint.
#pragma once

#include <hotloop/env.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "core/phase_clock.hpp"
#include "core/statistics.hpp"

namespace hotloop {

// The state of the health warnings (health.hpp).
struct HealthRecord {
  std::uint32_t bad = 0;     // signs that were bad in the last row
  std::uint32_t raised = 0;  // signs with a warning
  bool had_endings = false;
  std::vector<std::string> warnings;  // of the whole run
};

// Kept when a run is stopped and resumed.
struct RunRecord {
  double seconds = 0;  // wall time of training, over all sessions
  // Of these, per group of phases.
  std::array<double, kPhaseGroups.size()> group_seconds{};
  double greedy_return = kNone;  // mean of the last evaluation
  double greedy_std = kNone;
  // Means of the last evaluation; zeros before the first, when greedy_return is NaN.
  std::array<double, kMaxMeasures> greedy_measures{};
  std::int64_t greedy_env_steps = 0;
  double lowest_return = kNone;  // mean of the worst evaluation so far
  double best_return = kNone;    // and of the best
  double best_score = kNone;     // its score: see best_rule.hpp
  std::int64_t best_env_steps = 0;
  bool solved = false;
  std::int64_t solved_env_steps = 0;
  double solved_seconds = kNone;
  std::uint64_t metrics_bytes = 0;  // length of metrics.jsonl at this point
  std::uint64_t episode_bytes = 0;  // and of episodes.jsonl; 0 if there is none
  HealthRecord health;

  // Over all sessions, up to their checkpoints.
  GroupShares time_shares() const {
    const double all = std::accumulate(group_seconds.begin(), group_seconds.end(), 0.0);
    GroupShares shares = group_seconds;
    for (double& share : shares) share /= std::max(all, 1e-9);
    return shares;
  }
};

// The only list of the fields in a checkpoint.
template <class Record, class Visitor>
void visit_record(Record& r, Visitor&& visit) {
  visit("seconds", r.seconds);
  visit("group_seconds", r.group_seconds);
  visit("greedy_return", r.greedy_return);
  visit("greedy_std", r.greedy_std);
  visit("greedy_measures", r.greedy_measures);
  visit("greedy_env_steps", r.greedy_env_steps);
  visit("lowest_return", r.lowest_return);
  visit("best_return", r.best_return);
  visit("best_score", r.best_score);
  visit("best_env_steps", r.best_env_steps);
  visit("solved", r.solved);
  visit("solved_env_steps", r.solved_env_steps);
  visit("solved_seconds", r.solved_seconds);
  visit("metrics_bytes", r.metrics_bytes);
  visit("episode_bytes", r.episode_bytes);
  visit("health_bad", r.health.bad);
  visit("health_raised", r.health.raised);
  visit("had_endings", r.health.had_endings);
  visit("warnings", r.health.warnings);
}

}  // namespace hotloop
