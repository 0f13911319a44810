// Training from another program, with the same specs, run folders and results as the command line.
//
//   #include <hotloop/train.hpp>
//   const auto result = hotloop::train("cartpole_dqn", {"run.seed=7"});
//   std::printf("%s: %.1f\n", result.run_dir.c_str(), result.eval_return_mean);
//
// A bad request throws UsageError; a failure at run time throws RunError (error.hpp).
#pragma once

#include <hotloop/error.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hotloop {

// The result of a run; each field is a key of the JSON that `hotloop train --json` prints. NaN
// (null in JSON) means never measured.
struct TrainResult {
  std::string spec;
  std::uint64_t seed = 0;
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  std::int64_t declared_updates = 0;  // of the full run, without an early stop when solved
  double updates_per_step = 0;        // the declared update-to-data ratio
  std::int64_t train_events = 0;      // rounds followed by updates
  std::int64_t batches = 0;           // drawn
  std::int64_t target_updates = 0;    // hard or soft updates of the target network
  std::int64_t episodes = 0;
  int threads = 1;
  double wall_seconds = 0;      // all sessions together
  double eval_return_mean = 0;  // greedy, of the final parameters
  double eval_return_std = 0;   // over its episodes
  double best_return_mean = 0;  // of the best evaluation
  bool solved = false;          // an evaluation reached the threshold
  std::int64_t solved_env_steps = 0;
  double solved_seconds = 0;
  std::string params_hash;  // XXH3-64 of the final parameters
  std::string run_dir;
  std::string cpu;
  bool interrupted = false;           // stopped by a signal; resume continues
  std::vector<std::string> warnings;  // about the health of training, in words
  // If the environment has a score: mean over the last 100 training episodes, maximum over all
  // training episodes, and mean of the final evaluation.
  double score_last100 = 0;
  double score_max = 0;
  double score_greedy = 0;
  // Means of the environment's measures over all training episodes, by name.
  std::vector<std::pair<std::string, double>> measures;
  // Share of time per phase in the last session: act, env, memory, learn, evaluate and so on.
  std::vector<std::pair<std::string, double>> time;
  double episode_return_mean = 0;  // of all training episodes, exploration included
  double episode_return_last100 = 0;
};

// One line of JSON.
std::string to_json(const TrainResult& result);

// Trains `spec` (a ready-made name or a path) with overrides such as "algo.batch=64", in a new
// folder `<out>/<spec>-<number>`. With `trust`, an environment's code that a file names may run
// (docs/trust.md).
TrainResult train(const std::string& spec, const std::vector<std::string>& overrides = {},
                  const std::string& out = "runs", bool trust = false);

// Continues the run in `run_dir` from its newest checkpoint; overrides may change run.* and
// evaluation.* keys.
TrainResult resume(const std::string& run_dir, const std::vector<std::string>& overrides = {},
                   bool trust = false);

}  // namespace hotloop
