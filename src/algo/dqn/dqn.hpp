// Deep Q-learning (Mnih et al. 2015) and its extensions, each an independent switch:
//
//   y = r + d Q_target(s', a*)     d = gamma^m, or 0 where the episode terminated
//   a* = argmax_a Q_target(s', a)  or, with Double (van Hasselt et al. 2016), argmax_a Q(s', a)
//   L = mean w loss(y - Q(s, a))   w = importance weight (Schaul et al. 2016), 1 without priorities
//
// A truncated episode bootstraps from its final observation. Two forward passes per update, one more
// with Double or with Munchausen, which replaces y (munchausen.hpp). Without a target network Q_target
// is Q. Distributional heads replace y and L (common/q/loss.hpp); dueling, noisy and normalising layers are the
// network's business (src/net).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "algo/common/q/loss.hpp"
#include "algo/common/q/network.hpp"
#include "algo/common/report.hpp"
#include "algo/dqn/munchausen.hpp"
#include "algo/dqn/options.hpp"
#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "memory/replay.hpp"

namespace hotloop {

class Dqn {
 public:
  // Of the spec: its options, its batches, how parameters start and are optimised.
  Dqn(const Structure& structure, const AgentSpec& spec, std::uint64_t seed,
      const InputScale* scale = nullptr);

  // About what a learner takes: parameters, moments and target, and what each shard of a batch has.
  static std::size_t bytes_needed(const Structure& structure, const LearningOptions& options);

  struct Hints {
    // Neither the batches nor the target network have changed since the last update: what the target
    // network says about s' is not computed again where it must be the same.
    bool again = false;
  };

  // One gradient update: the mean gradient of the batches, one optimiser step. The parameters change
  // only if loss and gradient are finite; the caller looks at the report. `index` is the number of
  // the update: noise is drawn from it.
  QReport update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                 ThreadTeam& team, const Hints& hints);
  QReport update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                 ThreadTeam& team) {
    return update(batches, learning_rate, index, team, {});
  }
  QReport update(const Batch& batch, double learning_rate, ThreadTeam& team) {
    return update({&batch, 1}, learning_rate, 0, team);
  }
  // What the priorities of the batches' transitions should follow, after `update`: [batches * B].
  std::span<const float> errors() const { return errors_; }

  // target <- tau * online + (1 - tau) * target, `times` times
  void sync_target(std::int64_t times = 1);
  bool has_target() const { return options_.target.every > 0; }

  // Rewards are multiplied by this from now on.
  void set_reward_factor(float factor) { reward_factor_ = factor; }

  QNetwork& network() { return network_; }
  const QNetwork& network() const { return network_; }
  std::span<float> online() { return network_.online(); }
  std::span<const float> online() const { return network_.online(); }
  std::span<float> target() { return target_; }  // empty without a target network

 private:
  struct Shard : BatchShard {
    LossSums sums;
    Workspace s;     // online network at s
    Workspace next;  // target network at s'; with Double, the online network was there before it
    std::span<std::int32_t> next_actions;  // [blocks * kLanes] a*
    std::span<float> next_values, bonus;   // [blocks * kLanes] of Munchausen, else empty
    std::span<float> scratch;
  };

  void value_next_states(const Batch& batch, Shard& shard) const;
  void value_softly(const Batch& batch, Shard& shard) const;
  void compute_loss(const Batch& batch, Shard& shard, bool keep_next,
                    std::span<float> errors) const;

  DqnOptions options_;
  Munchausen munchausen_;
  QNetwork network_;
  Arena arena_;
  std::span<float> target_;  // flat parameters
  float reward_factor_ = 1;
  QNetwork::Noisy online_noise_, target_noise_;
  std::span<const float> online_now_, target_now_;  // parameters of this update, noise included
  std::vector<Shard> shards_;
  std::span<float> accumulated_;  // gradient over several batches; empty if there is only one
  std::span<float> errors_;       // [accumulate * batch]
};

}  // namespace hotloop
