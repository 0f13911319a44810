// A profile of a training run: where the time goes, and how that changes during the run.
//
// A profile runs a real session in a temporary folder: it logs, evaluates and saves as its spec
// says. It starts when learning starts, and ignores the spec's limits on steps and episodes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/phase_clock.hpp"
#include "core/schedule.hpp"
#include "profile/trend.hpp"
#include "spec/spec.hpp"
#include "train/health.hpp"

namespace hotloop {

// A phase, or a group of them. NaN = does not apply.
struct PhaseRow {
  std::string group;
  std::string part;  // empty: the whole group
  double seconds = 0;
  double share = 0;  // of wall time
  double us_per_step = 0;
  double us_per_update = 0;
  double calls = 0;                 // visits; for a group, the sum over its parts
  double p50_us = 0, p99_us = 0;    // of one visit; NaN for a group of several parts
  double gflops = 0;                // of its matrix products, per thread
  double peak_share = 0;            // of the core's measured peak
  double gigabytes_per_second = 0;  // the minimum that it must read and write
  double allocations_per_step = 0;

  std::string name() const { return part.empty() ? group : group + "/" + part; }
};

// Amdahl's law: the largest possible speed-up, if this share of the time cost nothing.
inline double amdahl(double share) { return 1 / (1 - std::min(share, 1 - 1e-9)); }

struct ThreadUse {
  int threads = 1;
  double runs = 0;           // how often work was distributed, in rounds that the clock split
  double span_seconds = 0;   // total duration of that work
  std::vector<double> busy;  // [threads] share of that duration in which each thread worked
  double imbalance = 0;      // longest / mean of busy, minus 1
  double wait_share = 0;     // of wall time: the first thread waits for the others
};

struct Profile {
  TrainSpec spec;       // as given, including the limits that the profile ignores
  std::string network;  // a description
  std::string cpu;
  double wall_seconds = 0;
  double warm_up_seconds = 0;  // collecting before the first update, not part of the profile
  Progress warm_up;            // what was done before the profile began
  bool learnt = false;         // whether there was at least one update
  std::int64_t env_steps = 0, updates = 0, episodes = 0;
  std::vector<PhaseRow> phases;  // groups in order of kPhaseGroups, each before its parts
  double unaccounted_share = 0;
  double peak_gflops = 0;                             // of one core, measured
  double allocations_per_step = 0;                    // in rounds; NaN if not counted
  std::int64_t resident_begin = 0, resident_end = 0;  // bytes
  double bytes_per_transition = 0;                    // in the replay or the rollout
  double cpu_share = 0;        // share of wall time that the first thread was on a CPU
  double queue_share = 0;      // share that it was ready but had no CPU; 0 if not known
  double sleeps_per_step = 0;  // how often it gave up the CPU, per vector step
  ThreadUse threads;
  std::vector<Sample> samples;
  Trend trend;
  Health health;                      // at the end
  std::vector<std::string> warnings;  // about learning (health.hpp)
  std::string failure;                // the error that stopped training; empty if none
  std::vector<PhaseVisit> visits;     // if a trace was requested
  double seconds_per_tick = 0;        // of the visits

  double steps_per_second() const { return static_cast<double>(env_steps) / wall_seconds; }
  double updates_per_second() const { return static_cast<double>(updates) / wall_seconds; }
  double share(std::string_view group, std::string_view part = "") const;  // 0 if there is none
  // What was done when the profile ended, including the warm-up.
  Progress end() const {
    return {warm_up.env_steps + env_steps, warm_up.updates + updates, warm_up.episodes + episodes};
  }
};

struct ProfileOptions {
  double seconds = 5;
  std::size_t trace = 0;  // visits to keep
  const std::atomic<bool>* stop = nullptr;
  std::function<void(double share)> progress{};  // called with each sample
};

// Throws UsageError if the spec cannot be run.
Profile take_profile(const TrainSpec& spec, const ProfileOptions& options);

// The spec without limits on how long it runs.
TrainSpec without_end(TrainSpec spec);

}  // namespace hotloop
