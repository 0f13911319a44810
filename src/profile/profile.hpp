// A training run under the clock: where its time goes, and how that changes while it runs.
//
// A profile is a real session in a folder of its own, which is removed afterwards: it logs, evaluates
// and saves as its spec says. It begins when learning begins, and does not stop where the spec would
// end: limits on steps and episodes are lifted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/phase_clock.hpp"
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
  double calls = 0;                 // visits; of a group, those of its parts
  double p50_us = 0, p99_us = 0;    // of one visit; NaN for a group of several parts
  double gflops = 0;                // of its matrix products, per thread
  double peak_share = 0;            // of the core's measured peak
  double gigabytes_per_second = 0;  // that it must read and write, at the least
  double allocations_per_step = 0;

  std::string name() const { return part.empty() ? group : group + "/" + part; }
};

// Amdahl: if this share cost nothing, a run would be at most this many times as fast.
inline double amdahl(double share) { return 1 / (1 - std::min(share, 1 - 1e-9)); }

struct ThreadUse {
  int threads = 1;
  double runs = 0;           // times that work was handed out in rounds that were split
  double span_seconds = 0;   // how long that took
  std::vector<double> busy;  // [threads] share of that time in which each worked
  double imbalance = 0;      // longest / mean of busy, minus 1
  double wait_share = 0;     // of wall time: the first thread waits for the others
};

struct Profile {
  TrainSpec spec;       // as it was given, with the limits that the profile lifts
  std::string network;  // in words
  std::string cpu;
  double wall_seconds = 0;
  double warm_up_seconds = 0;  // collecting before the first update, not part of the profile
  std::int64_t warm_up_steps = 0;
  bool learnt = false;  // whether there was any update
  std::int64_t env_steps = 0, updates = 0, episodes = 0;
  std::vector<PhaseRow> phases;  // groups in order of kPhaseGroups, each before its parts
  double unaccounted_share = 0;
  double peak_gflops = 0;                             // of one core, measured
  double allocations_per_step = 0;                    // in rounds; NaN if nobody counts
  std::int64_t resident_begin = 0, resident_end = 0;  // bytes
  double bytes_per_transition = 0;                    // of the memory or the rollout
  double cpu_share = 0;    // of wall time that the first thread was on a CPU
  double queue_share = 0;  // that it waited for one, others having them; 0 if the system is silent
  double sleeps_per_step = 0;  // times it gave up the CPU, per vector step
  ThreadUse threads;
  std::vector<Sample> samples;
  Trend trend;
  Health health;                      // at the end
  std::vector<std::string> warnings;  // about learning (health.hpp)
  std::string failure;                // why training stopped by itself; empty if it did not
  std::vector<PhaseVisit> visits;     // if a trace was asked for
  double seconds_per_tick = 0;        // of the visits

  double steps_per_second() const { return static_cast<double>(env_steps) / wall_seconds; }
  double updates_per_second() const { return static_cast<double>(updates) / wall_seconds; }
  double share(std::string_view group, std::string_view part = "") const;  // 0 if there is none
};

struct ProfileOptions {
  double seconds = 5;
  std::size_t trace = 0;  // visits to keep
  const std::atomic<bool>* stop = nullptr;
  std::function<void(double share)> progress{};  // a few times a second
};

// Throws UsageError if the spec cannot be run.
Profile take_profile(const TrainSpec& spec, const ProfileOptions& options);

// The spec without limits on how long it runs.
TrainSpec without_end(TrainSpec spec);

}  // namespace hotloop
