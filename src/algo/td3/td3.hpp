// Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018). In this order:
//
//   targets   a' = clip(mu'(s') + clip(noise e, -c, c), -1, 1),  y = r + d min_k Q'_k(s', a')
//   critics   L_k = mean w (y - Q_k(s, a))^2 / 2
//   and after every `policy_delay` updates of the critics
//   actor     L = -mean Q(s, mu(s))
//   sync      target <- tau online + (1 - tau) target, of the critics and the actor
//
// mu(s) = tanh of the actor's outputs. DDPG (Lillicrap et al. 2016) has one critic, no delay and no
// noise on target actions. common/continuous/critics.hpp says what the minimum runs over, and what
// replaces it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "algo/common/continuous/critics.hpp"
#include "algo/common/report.hpp"
#include "algo/td3/options.hpp"

namespace hotloop {

struct Td3Report : UpdateReport {  // loss and gradient_norm are those of the critics
  double mean_q = 0;
  double actor_loss = 0;
  double actor_gradient_norm = 0;
  double saturated = 0;  // share of the actor's actions beyond 0.99 of their bounds
};
inline constexpr std::array<Column<Td3Report>, 6> kTd3Columns = {
    {{"loss", &Td3Report::loss},
     {"mean_q", &Td3Report::mean_q},
     {"actor_loss", &Td3Report::actor_loss},
     {"saturated", &Td3Report::saturated},
     {"gradient_norm", &Td3Report::gradient_norm},
     {"actor_gradient_norm", &Td3Report::actor_gradient_norm}}};

class Td3 {
 public:
  Td3(const Structure& actor, const Structure& critic, const AgentSpec& spec, std::uint64_t seed,
      const InputScale* scale = nullptr);

  struct Rates {
    double actor, critics;
  };
  // One update. Parameters change only if their loss and gradient are finite; the caller checks the
  // report. `index` is the number of the update: it selects the random streams and decides whether
  // the actor's turn has come.
  Td3Report update(const Batch& batch, const Rates& rates, std::uint64_t index, ThreadTeam& team);
  bool updates_actor(std::uint64_t index) const { return (index + 1) % options_.policy_delay == 0; }
  // Of the latest update, for priorities: [B].
  std::span<const float> errors() const { return critics_.errors(); }

  Td3Report& report() { return report_; }  // the latest; part of the state

  void set_reward_factor(float factor) { reward_factor_ = factor; }

  LearntNetwork& actor() { return actor_; }
  std::span<float> actor_target() { return actor_target_; }
  Critics& critics() { return critics_; }

 private:
  // For a range of rows.
  void choose_next_actions(const Batch& batch, std::uint64_t index, const RowRange& rows);
  void smooth(const BlockPart& at, std::uint64_t index, float* action) const;
  void compute_actor_loss(const Batch& batch, const RowRange& rows);
  void update_actor(const Batch& batch, const Rates& rates, ThreadTeam& team);

  Td3Options options_;
  int actions_;
  std::uint64_t seed_;
  LearntNetwork actor_;
  Critics critics_;
  Arena arena_;
  std::span<float> actor_target_;  // flat parameters; empty in CrossQ
  float reward_factor_ = 1;
  BatchSplit split_;
  Workspace at_;                     // the actor, at s' and at s
  std::span<float> actor_gradient_;  // flat
  Td3Report
      report_;  // of the latest update; between updates of the actor it keeps what they reported
};

}  // namespace hotloop
