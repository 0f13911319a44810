// Deep Q-learning (Mnih et al. 2015) and its extensions, each an independent switch:
//
//   y = r + d Q_target(s', a*)     d = gamma^n for n steps, 0 where the episode terminated
//   a* = argmax_a Q_target(s', a)  or, with Double (van Hasselt et al. 2016), argmax_a Q(s', a)
//   L = mean w loss(y - Q(s, a))   w = importance weight (Schaul et al. 2016), 1 without priorities
//
// A truncated episode bootstraps from its final observation. An update takes two forward passes,
// three with Double or Munchausen, which replaces y (munchausen.hpp). Without a target network
// Q_target is Q. Distributional heads replace y and L (common/q/loss.hpp). Dueling, noisy and
// normalisation layers are part of the network (src/net).
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
#include "net/batch_gradient.hpp"

namespace hotloop {

class Dqn {
 public:
  // Uses the options, batch size, initialisation and optimiser of the spec.
  Dqn(const Structure& structure, const AgentSpec& spec, std::uint64_t seed,
      const InputScale* scale = nullptr);

  // Approximate memory: parameters, moments, target, and the buffers of a batch.
  static std::size_t bytes_needed(const Structure& structure, const AgentSpec& spec);

  struct Hints {
    // Neither the batches nor the target network have changed since the last update, so targets
    // that depend only on them are not computed again.
    bool same_targets = false;
  };

  // One gradient update: one optimiser step along the mean gradient of the batches. The parameters
  // change only if loss and gradient are finite; the caller checks the report. `index` is the
  // number of the update and selects the random stream of the noise.
  QReport update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                 ThreadTeam& team, const Hints& hints);
  QReport update(std::span<const Batch> batches, double learning_rate, std::uint64_t index,
                 ThreadTeam& team) {
    return update(batches, learning_rate, index, team, {});
  }
  QReport update(const Batch& batch, double learning_rate, ThreadTeam& team) {
    return update({&batch, 1}, learning_rate, 0, team);
  }
  // The errors of the latest update, for priorities: [batches * B].
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
  // For a range of rows, which one thread learns from.
  void evaluate_next_states(const Batch& batch, const RowRange& rows);
  void compute_munchausen(const Batch& batch, const RowRange& rows);
  void compute_loss(const Batch& batch, const RowRange& rows, std::span<float> errors);
  float* scratch(const RowRange& rows) { return scratch_[rows.thread].data(); }

  DqnOptions options_;
  Munchausen munchausen_;
  QNetwork network_;
  Arena arena_;
  std::span<float> target_;  // flat parameters
  float reward_factor_ = 1;
  QNetwork::Noisy online_noise_, target_noise_;
  std::span<const float> online_now_, target_now_;  // parameters of this update, including noise
  BatchSplit split_;
  Workspace s_;     // online network at s
  Workspace next_;  // target network at s'; with Double, first the online network
  std::span<std::int32_t> next_actions_;   // [blocks * kLanes] a*
  std::span<float> next_values_, bonus_;   // [blocks * kLanes] for Munchausen, otherwise empty
  std::span<float> losses_, values_;       // [batch] weighted loss, Q(s, a)
  std::vector<std::span<float>> scratch_;  // [threads]
  std::span<float> gradient_;              // flat
  std::span<float> accumulated_;  // mean gradient of several batches; empty if accumulate is 1
  std::span<float> errors_;       // [accumulate * batch]
};

}  // namespace hotloop
