// PQN and SARSA: learn from the rollout just collected, then forget it.
#pragma once

#include "algo/pqn/pqn.hpp"
#include "memory/rollout.hpp"
#include "algo/common/learner_base.hpp"

namespace hotloop {

class RolloutLearner final : public LearnerBase {
 public:
  explicit RolloutLearner(const TrainSpec& spec);

  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) override;
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
           Actions& actions) override;
  void push(const Transitions& step, Counters& counters) override;
  void learn(Training training) override;
  Signs signs(const Counters& counters) override;
  QNetwork& network() override { return pqn_.network(); }
  void visit(const ArrayVisitor& visitor) override;

 private:
  bool is_sarsa() const { return spec_.algorithm == Algorithm::sarsa; }
  void value_last_state(const Counters& counters, ThreadTeam& team);
  void compute_returns(ThreadTeam& team);

  Pqn pqn_;
  Rollout rollout_;
  FinalStates finals_;
  Arena arena_;
  std::span<float> best_, taken_;        // [T + 1, N] values of the states as they were acted in
  std::span<float> next_values_;         // [T, N]
  std::span<float> final_values_;        // [FinalStates::kRows]
  std::span<float> returns_;             // [T, N]
  std::span<std::int32_t> order_;        // [T * N] places, shuffled
  std::span<std::int32_t> next_action_;  // [N] SARSA: chosen before learning, taken after it
  std::span<std::int64_t> vector_step_;  // [1] of the next action
};

}  // namespace hotloop
