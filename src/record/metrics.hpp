// metrics.jsonl: one JSON object per line, append-only, with names and units that do not change.
//
//   env_steps, updates, episodes              counts since the start of the run
//   seconds                                   wall time of training, all sessions together
//   env_steps_per_second, updates_per_second  since the previous row; null in a session's first
//   exploring_return                          mean return of the episodes that ended since then
//   greedy_return                             mean of the last evaluation, null before the first
//   measures                                  means over the last 100 episodes of what the
//                                             environment measures, by name
//   greedy_measures                           means of the last evaluation, likewise
//   loss, mean_q, gradient_norm               means over the updates since the previous row of what the
//                                             algorithm reports; ppo: mean_q is of V, and besides
//   entropy, kl, clipped                      entropy of the policy, divergence from the one that acted,
//                                             share of ratios beyond the clip
//   largest_q, q_bound, action_gap,           signs of health, see health.hpp; null where they do
//   terminal_share, target_lag                not apply
//   epsilon, temperature, beta,               schedules of the algorithm, as they are now
//   ent_coef, learning_rate
//   warnings                                  in words, raised by this row
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
  // Continues a run: what was written after `offset` bytes is cut off and will be written again.
  MetricsLog(const std::string& path, std::uint64_t offset) : lines_(path, offset) {}

  // Writes a row and clears the trainer's window; returns the row's warnings.
  std::vector<std::string> write(Trainer& trainer, RunRecord& record);
  std::string_view latest() const { return row_; }  // the row written last
  std::uint64_t bytes() const { return lines_.offset(); }
  void sync() { lines_.sync(); }

 private:
  LineWriter lines_;
  std::string row_;
  double last_seconds_ = -1;
  std::int64_t last_steps_ = 0, last_updates_ = 0;
};

}  // namespace hotloop
