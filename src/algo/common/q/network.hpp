// The network that every member of the Q-learning family acts with and learns: online parameters,
// optimiser, noise, and the choice of actions.
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

// What the network thinks of the states it acts in; empty spans are not filled.
struct ActionValues {
  std::span<float> best;   // [N] max_a Q(s, a) over the allowed actions
  std::span<float> taken;  // [N] Q(s, a) of the chosen action
};

// What the network thinks of some states, for the watch over its health.
struct Probe {
  double largest_q = 0;   // max |Q(s, a)|
  double action_gap = 0;  // mean of best minus second best Q(s, a), where there are two
  double best_q = 0;      // mean of max_a Q(s, a)
};

class QNetwork : public LearntNetwork {
 public:
  static constexpr int kProbeRows = 128;

  // `scale` normalises observations; null = they are taken as they are.
  QNetwork(const Structure& structure, const QHead& head, Initialiser init,
           const OptimiserOptions& optimiser, std::uint64_t seed, int envs,
           const InputScale* scale);

  // Actions for rows obs [N, D]; each environment draws for itself from (seed, exploration, row,
  // step), and noisy layers draw once for all from (seed, noise, 0, step). Masked actions are never
  // taken.
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           const Exploration& exploration, std::uint64_t step, ThreadTeam& team,
           std::span<std::int32_t> actions, const ActionValues& values = {});
  // From now on `act` uses the parameters of this moment, while learning may change them. The first
  // call takes the memory for it.
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

  // Over the first kProbeRows of rows [count, D] and the actions that mask [count, A] allows (null =
  // all), without noise.
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
  std::span<float> frozen_;  // parameters to act by; empty = the online ones
  Noisy acting_noise_;
  std::span<float> scratch_;  // [blocks of acting_][values_scratch]
};

}  // namespace hotloop
