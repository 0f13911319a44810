// metrics.jsonl: one JSON object per line, with names and units that do not change. A long run
// keeps only some of its rows (metrics_file.hpp); "the previous row" below is the previous one that
// was due, kept or not.
//
//   env_steps, updates, episodes              counts since the start of the run
//   seconds                                   wall time of training, all sessions together
//   env_steps_per_second, updates_per_second  since the previous row; null in a session's first
//   exploring_return                          mean return of the episodes that ended since then
//   greedy_return                             mean of the last evaluation, null before the first
//   measures                                  the environment's measures by name, means over the
//                                             last 100 episodes
//   greedy_measures                           the same, means of the last evaluation
//   loss, mean_q, gradient_norm               what the algorithm reports, means over the updates
//                                             since the previous row; for ppo, mean_q is of V
//   actor_loss, actor_gradient_norm,          sac, td3 and ddpg: of the actor; share of actions at
//   saturated, ent_coef                       their bounds; sac only: the temperature
//   critic_bias                               sac, td3 and ddpg, once episodes have ended: mean of
//                                             Q(s, a) minus observed returns
//   entropy, kl, clipped                      ppo only: entropy of the policy, KL divergence from
//                                             the acting policy, share of clipped ratios
//   largest_q, q_bound, action_gap,           health of training, see health.hpp; null where they
//   terminal_share, target_lag                do not apply
//   epsilon, temperature, beta,               current values of the algorithm's schedules
//   ent_coef, learning_rate
//   warnings                                  texts of the warnings that this row raised
//   resident_bytes                            memory of the process
//   time                                      share of each phase of the clock in this session
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "record/metrics_file.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

class MetricsLog {
 public:
  MetricsLog(std::string path, const RunOptions& options) : file_(std::move(path), options) {}
  MetricsLog(std::string path, const RunOptions& options, std::int64_t env_steps,
             std::uint64_t bytes)
      : file_(std::move(path), options, env_steps, bytes) {}

  // Writes a row, if the file keeps it, and clears the trainer's window; returns the row's
  // warnings. The last row of a run is always kept.
  std::vector<std::string> write(Trainer& trainer, RunRecord& record, bool is_last = false);
  std::string_view latest() const { return row_; }
  MetricsFile& file() { return file_; }

 private:
  MetricsFile file_;
  std::string row_;
  double last_seconds_ = -1;
  std::int64_t last_steps_ = 0, last_updates_ = 0;
};

}  // namespace hotloop
