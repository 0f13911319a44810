// Q-learning from the latest rollout, without replay memory or target network:
//
//   PQN    (Gallici et al. 2024): V(s) = max_a Q(s, a). Relies on layer normalisation.
//   SARSA  (Rummery & Niranjan 1994): V(s) = Q(s, a) of the action taken next.
//
//   L = mean loss(G - Q(s, a)), with the lambda returns G of returns.hpp
//
// In the final state of a truncated episode no action was taken. There V(s) is the expectation of
// Q(s, a) over the actions that the algorithm's own policy would take: for PQN, whose policy is
// greedy, the maximum again; for SARSA, as in Expected SARSA (van Seijen et al. 2009), the mean
// over its exploring policy of that moment. The maximum would be the value of another policy.
// With noisy layers, values computed while acting include the noise of that step; others have none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "algo/common/q/network.hpp"
#include "algo/common/report.hpp"
#include "algo/common/returns.hpp"
#include "algo/pqn/options.hpp"
#include "memory/final_states.hpp"
#include "memory/rollout.hpp"
#include "net/batch_gradient.hpp"

namespace hotloop {

class Pqn {
 public:
  // Learns in minibatches of spec.learn.batch transitions.
  Pqn(const Structure& structure, const AgentSpec& spec, std::uint64_t seed,
      const InputScale* scale = nullptr);

  // One gradient update on the transitions `places` (indices into [T * N]), with `returns` [T * N].
  QReport update(const Rollout& rollout, std::span<const std::int32_t> places,
                 std::span<const float> returns, double learning_rate, std::uint64_t index,
                 ThreadTeam& team);

  // The expectation of Q(s, a) under `policy` (expected_q), in the states of rows [count, D]. At
  // most max(envs, FinalStates::kRows) rows.
  void values(const float* rows, const std::uint8_t* masks, int count, const Exploration& policy,
              std::span<float> values, ThreadTeam& team);

  QNetwork& network() { return network_; }
  const QNetwork& network() const { return network_; }

 private:
  void learn(const Rollout& rollout, std::span<const std::int32_t> places,
             std::span<const float> returns, std::span<const float> parameters,
             const RowRange& rows);

  PqnOptions options_;
  int batch_;
  QNetwork network_;
  Arena arena_;
  QNetwork::Noisy noise_;
  Workspace value_workspace_;
  BatchSplit split_;
  Workspace s_;                       // [batch]
  std::span<float> losses_, values_;  // [batch] loss, Q(s, a)
  std::span<float> gradient_;         // flat
};

}  // namespace hotloop
