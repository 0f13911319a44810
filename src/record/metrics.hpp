// metrics.jsonl: one JSON object per line, append-only, with names and units that do not change.
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

#include "core/file.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

class MetricsLog {
 public:
  explicit MetricsLog(const std::string& path) : lines_(path) {}
  // Continues a run at byte `offset`: the rest of the file is cut off and will be written again.
  MetricsLog(const std::string& path, std::uint64_t offset) : lines_(path, offset) {}

  // Writes a row and clears the trainer's window; returns the row's warnings.
  std::vector<std::string> write(Trainer& trainer, RunRecord& record);
  std::string_view latest() const { return row_; }  // the last row written
  std::uint64_t bytes() const { return lines_.offset(); }
  void sync() { lines_.sync(); }

 private:
  LineWriter lines_;
  std::string row_;
  double last_seconds_ = -1;
  std::int64_t last_steps_ = 0, last_updates_ = 0;
};

}  // namespace hotloop
