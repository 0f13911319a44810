// What a run has reached: the numbers that metrics, progress bar, checkpoint and result share.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "run/evaluation.hpp"

namespace hotloop {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Survives stopping and resuming.
struct RunRecord {
  double seconds = 0;            // wall time of training, all sessions together
  double greedy_return = kNone;  // mean of the last evaluation
  double greedy_deviation = kNone;
  double best_return = kNone;  // mean of the best evaluation so far
  bool solved = false;
  std::int64_t solved_env_steps = 0;
  double solved_seconds = kNone;
  std::uint64_t metrics_bytes = 0;  // length of metrics.jsonl when this was saved
};

struct TrainResult {
  std::string spec;
  std::uint64_t seed = 0;
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  std::int64_t declared_updates = 0;  // of the whole run, had it not stopped when solved
  std::int64_t episodes = 0;
  int threads = 1;
  RunRecord record;
  std::string params_hash;
  std::string run_dir;
  bool interrupted = false;
};

// One line of JSON with the keys that the README documents.
std::string to_json(const TrainResult& result);

}  // namespace hotloop
