// The training loop of PPO: collect a rollout, compute returns and advantages (GAE), learn from
// them in epochs of shuffled batches until the KL divergence exceeds target_kl, discard the
// rollout.
//
// Statistics that normalise observations are updated between rollouts only, so acting and learning
// see the same normalised observations.
#pragma once

#include "algo/common/learner_base.hpp"
#include "algo/ppo/ppo.hpp"
#include "memory/final_states.hpp"
#include "memory/rollout.hpp"

namespace hotloop {

// The outputs of its network, and the rollout, for this environment.
ActorCriticHead ppo_head(const AgentSpec& spec, const WorldFacts& world);
RolloutShape ppo_rollout_shape(const AgentSpec& spec, const WorldFacts& world);

class PpoLearner final : public LearnerBase {
 public:
  PpoLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed);

  void begin(std::span<const float> obs, std::span<const std::uint8_t> mask) override;
  void act(std::span<const float> obs, std::span<const std::uint8_t> mask,
           std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
           Actions& actions) override;
  void push(const Transitions& step, Counters& counters) override;
  void learn(Training training) override;
  Signs signs(const Counters& counters) override;
  LearntNetwork& acting() override { return ppo_; }
  std::vector<std::string_view> columns() const override { return names(kPpoColumns); }
  void settings(const Counters& counters, const NumberVisitor& visitor) const override;
  void visit(const ArrayVisitor& visitor) override;
  void restored(const Counters& counters) override;

  const OldPolicy& old_policy() const { return old_policy_; }
  std::span<const float> advantages() const { return advantages_; }
  std::span<const float> returns() const { return returns_; }

 private:
  std::span<float> values_of(int head) {
    return old_policy_.values.subspan(head * old_policy_.value_stride);
  }
  void compute_values(ThreadTeam& team);
  void compute_returns();

  PpoOptions options_;
  Ppo ppo_;
  Rollout rollout_;
  FinalStates finals_;
  Arena arena_;
  OldPolicy old_policy_;           // values of T + 1 rows
  std::span<float> next_values_;   // [values, T, N] of the state after each step
  std::span<float> returns_;       // [values, T, N]
  std::span<float> advantages_;    // [T, N]
  std::span<std::int32_t> order_;  // [T * N] shuffled indices
  std::span<float> final_values_;  // [values, FinalStates::kRows]
};

}  // namespace hotloop
