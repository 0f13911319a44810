// Soft actor-critic (Haarnoja et al. 2018b), with any number of critics. In this order:
//
//   targets      a' ~ pi(s'),  y = r + d (min_k Q'_k(s', a') - alpha log pi(a' | s'))
//   critics      L_k = mean w (y - Q_k(s, a))^2 / 2
//   actor        a ~ pi(s) by its noise,  L = mean alpha log pi(a | s) - Q(s, a)
//   temperature  L = -log alpha mean(log pi(a | s) + target entropy)
//   sync         target <- tau online + (1 - tau) target
//
// common/continuous/critics.hpp says what the minimum runs over, and what replaces it: a random
// subset (REDQ, Chen et al. 2021) or truncated quantiles (TQC, Kuznetsov et al. 2020). The actor
// sees the critics after their step, and all use the temperature before its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "algo/common/continuous/critics.hpp"
#include "algo/common/report.hpp"
#include "algo/sac/options.hpp"

namespace hotloop {

struct SacReport : UpdateReport {  // loss and gradient_norm are those of the critics
  double mean_q = 0;
  double actor_loss = 0;
  double actor_gradient_norm = 0;
  double entropy = 0;    // mean of -log pi
  double ent_coef = 0;   // the temperature alpha
  double saturated = 0;  // share of sampled actions beyond 0.99 of their bounds
};
inline constexpr std::array<Column<SacReport>, 8> kSacColumns = {
    {{"loss", &SacReport::loss},
     {"mean_q", &SacReport::mean_q},
     {"actor_loss", &SacReport::actor_loss},
     {"entropy", &SacReport::entropy},
     {"ent_coef", &SacReport::ent_coef},
     {"saturated", &SacReport::saturated},
     {"gradient_norm", &SacReport::gradient_norm},
     {"actor_gradient_norm", &SacReport::actor_gradient_norm}}};

// Bounds of log alpha: beyond them float arithmetic ends.
inline constexpr float kMaxLogTemperature = 80;

class Sac {
 public:
  Sac(const Structure& actor, const Structure& critic, const AgentSpec& spec, std::uint64_t seed,
      const InputScale* scale = nullptr);

  struct Rates {
    double actor, critics, temperature;
  };
  // One update. Parameters change only if their loss and gradient are finite, and those of the actor
  // only if those of all critics are; the caller checks the report. `index` is the number of the update and selects the random streams.
  SacReport update(const Batch& batch, const Rates& rates, std::uint64_t index, ThreadTeam& team);
  // Of the latest update, for priorities: [B].
  std::span<const float> errors() const { return critics_.errors(); }

  void set_reward_factor(float factor) { reward_factor_ = factor; }

  LearntNetwork& actor() { return actor_; }
  Critics& critics() { return critics_; }
  double temperature() const;
  SacReport& report() { return report_; }  // the latest; part of the state
  bool learns_temperature() const { return learns_temperature_; }
  std::span<float> log_temperature() { return log_temperature_; }
  Optimiser& temperature_optimiser() { return temperature_optimiser_; }

 private:
  float* spread(const BlockPart& at) { return &spread_[at.block * actions_ * kLanes + at.lane]; }
  float* log_probability(const BlockPart& at) { return &log_probability_[at.row()]; }
  // For a range of rows.
  void sample(int pass, std::uint64_t index, const RowRange& rows);
  void choose_next_actions(const Batch& batch, std::uint64_t index, const RowRange& rows);
  void compute_actor_loss(const Batch& batch, std::uint64_t index, const RowRange& rows);
  void update_actor(const Batch& batch, const Rates& rates, std::uint64_t index, ThreadTeam& team);

  SacOptions options_;
  int actions_;
  std::uint64_t seed_;
  LearntNetwork actor_;
  Critics critics_;
  Arena arena_;
  bool learns_temperature_;
  double target_entropy_;
  std::span<float> log_temperature_;  // [1]
  Optimiser temperature_optimiser_;
  float reward_factor_ = 1;
  BatchSplit split_;
  Workspace at_;                      // the actor, at s' and at s
  std::span<float> actor_gradient_;   // flat
  std::span<float> spread_;           // [blocks][A][kLanes] std times noise
  std::span<float> log_probability_;  // [blocks][kLanes]
  SacReport
      report_;  // of the latest update; between updates of the actor it keeps what they reported
};

}  // namespace hotloop
