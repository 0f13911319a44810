// The training loop of PQN and SARSA: collect a rollout with exploration, compute returns, learn
// from them in epochs of shuffled batches, discard the rollout.
#pragma once

#include "algo/common/learner_base.hpp"
#include "algo/pqn/pqn.hpp"
#include "memory/rollout.hpp"

namespace hotloop {

class PqnLearner final : public LearnerBase {
 public:
  PqnLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed);

  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) override;
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
           Actions& actions) override;
  void push(const Transitions& step, Counters& counters) override;
  void learn(Training training) override;
  Signs signs(const Counters& counters) override;
  QNetwork& acting() override { return pqn_.network(); }
  std::vector<std::string_view> columns() const override { return names(kQColumns); }
  void settings(const Counters& counters, const NumberVisitor& visitor) const override;
  void visit(const ArrayVisitor& visitor) override;
  void restored(const Counters& counters) override;

 private:
  bool is_sarsa() const { return options_.backup == Backup::taken; }
  void evaluate_last_state(const Counters& counters, ThreadTeam& team);
  void compute_returns(const Counters& counters, ThreadTeam& team);

  PqnOptions options_;
  Pqn pqn_;
  Rollout rollout_;
  FinalStates finals_;
  Arena arena_;
  std::span<float> best_, taken_;        // [T + 1, N] computed while acting
  std::span<float> next_values_;         // [T, N]
  std::span<float> final_values_;        // [FinalStates::kRows]
  std::span<float> returns_;             // [T, N]
  std::span<std::int32_t> order_;        // [T * N] shuffled indices
  std::span<std::int32_t> next_action_;  // [N] SARSA: chosen before learning, taken after
  std::span<std::int64_t> vector_step_;  // [1] of the next action
};

}  // namespace hotloop
