// The online network of the Q-learning family: parameters, optimiser, noise, choice of actions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algo/common/learnt_network.hpp"
#include "algo/common/q/exploration.hpp"
#include "algo/common/q/head.hpp"
#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "net/noise.hpp"

namespace hotloop {

// The values of the states it acts in; empty spans are not filled.
struct ActionValues {
  std::span<float> best;   // [N] max_a Q(s, a) over the allowed actions
  std::span<float> taken;  // [N] Q(s, a) of the chosen action
};

// The expectation of Q(s, a) over the actions that `QNetwork::act` would take in s:
//   epsilon-greedy  epsilon mean_a Q(s, a) + (1 - epsilon) max_a Q(s, a), over the allowed actions
//   Boltzmann       sum_a p(a) Q(s, a), with p = softmax(Q / temperature)
// `q` is one lane of the values of a block, `best` the greedy action.
float expected_q(const float* q, int actions, const std::uint8_t* mask, int best,
                 const Exploration& exploration);

// Q-values over a few states, for health checks.
struct Probe {
  double largest_q = 0;   // max |Q(s, a)|
  double action_gap = 0;  // mean of best minus second best Q(s, a), if there are two
  double best_q = 0;      // mean of max_a Q(s, a)
};

class QNetwork : public LearntNetwork {
 public:
  static constexpr int kProbeRows = 128;

  // `scale` normalises observations; null = no normalisation.
  QNetwork(const Structure& structure, const QHead& head, Initialiser init,
           const OptimiserOptions& optimiser, std::uint64_t seed, int envs,
           const InputScale* scale);

  // Actions for rows obs [N, D]. Each environment uses the random stream (seed, exploration, row,
  // step). Noisy layers draw one noise for all environments, from (seed, noise, 0, step). Masked
  // actions are never taken.
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           const Exploration& exploration, std::uint64_t step, ThreadTeam& team,
           std::span<std::int32_t> actions, const ActionValues& values = {});
  // From now on `act` uses a copy of the current parameters, while learning may change them. The
  // first call allocates the copy.
  void freeze();
  std::span<float> frozen() { return frozen_; }

  // The parameters with fresh noise from (seed, noise, lane, step), or the parameters themselves if
  // no layer is noisy.
  struct Noisy {
    std::span<float> noise, effective;
  };
  Noisy make_noisy();
  std::span<const float> with_noise(std::span<const float> parameters, std::uint32_t lane,
                                    std::uint64_t step, Noisy& noisy) const;

  // Over the first kProbeRows of rows [count, D] and the actions that mask [count, A] allows (null
  // = all), without noise.
  Probe probe(const float* rows, int count, const std::uint8_t* mask = nullptr);

  const QHead& head() const { return head_; }
  bool is_noisy() const { return noise_size(structure()) > 0; }

 private:
  void act_block(int block, int envs, std::span<const float> obs,
                 std::span<const std::uint8_t> mask, const Exploration& exploration,
                 std::uint64_t step, std::span<std::int32_t> actions, const ActionValues& values,
                 std::span<const float> parameters);

  QHead head_;
  std::uint64_t seed_;
  Arena arena_;
  Workspace acting_;         // [envs]
  Workspace probing_;        // [kProbeRows]
  std::span<float> frozen_;  // parameters for acting; empty = use online()
  Noisy acting_noise_;
  std::span<float> scratch_;  // [blocks of acting_][values_scratch]
};

}  // namespace hotloop
