// Deep Q-learning (Mnih et al. 2015) over batches of environments.
//
//   y = r + discount * max_a' Q_target(s', a')    a forward pass of the target network
//   L = mean loss(y - Q(s, a))                    forward and backward of the online one
//
// `discount` is 0 only where the episode terminated: a truncated episode bootstraps from its final
// observation. Two forward passes per update, no third.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algo/dqn_options.hpp"
#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "memory/replay.hpp"
#include "net/network.hpp"
#include "net/optimiser.hpp"

namespace hotloop {

struct UpdateReport {
  double loss = 0;           // mean over the batch
  double mean_q = 0;         // mean of Q(s, a)
  double gradient_norm = 0;  // before clipping
};

class Dqn {
 public:
  Dqn(const Structure& structure, Initialiser init, const DqnOptions& options,
      const OptimiserOptions& optimiser, std::uint64_t seed, int envs);

  // Epsilon-greedy actions for rows obs [N, D]; each environment draws for itself from
  // (seed, exploration, row, step). Masked actions are never taken.
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask, double epsilon,
           std::uint64_t step, ThreadTeam& team, std::span<std::int32_t> actions);

  // One gradient update. The parameters change only if loss and gradient are finite; the caller
  // looks at the report.
  UpdateReport update(const Batch& batch, double learning_rate, ThreadTeam& team);

  // target <- blend * online + (1 - blend) * target
  void update_target();

  const Structure& structure() const { return plan_.structure(); }
  const Plan& plan() const { return plan_; }
  std::span<float> online() { return online_; }
  std::span<const float> online() const { return online_; }
  std::span<float> target() { return target_; }
  Optimiser& optimiser() { return optimiser_; }

 private:
  // A fixed share of the batch, learnt by one thread. The split depends on the batch size alone,
  // never on the number of threads, and gradients are added in shard order.
  struct Shard {
    int first, rows;  // of the batch
    Workspace online, target;
    std::span<float> gradient;  // flat, of this shard's part of the mean loss
    double loss = 0, q = 0;     // sums over the rows
  };

  void learn(const Batch& batch, Shard& shard) const;

  DqnOptions options_;
  std::uint64_t seed_;
  Plan plan_;
  Arena arena_;
  std::span<float> online_, target_;  // flat parameters
  Optimiser optimiser_;
  Workspace acting_;  // [envs]
  std::vector<Shard> shards_;
};

// The greedy choice for one row: argmax_a Q(s, a) over the allowed actions, the first of equals.
// `q` is the row's lane in a block of outputs; `mask` is [A] or null.
int greedy_action(const float* q, int actions, const std::uint8_t* mask);

// The loss of one transition and its derivative with respect to Q(s, a), for error = y - Q(s, a).
struct LossTerm {
  float value, slope;
};
LossTerm td_loss(Loss loss, float error);

}  // namespace hotloop
