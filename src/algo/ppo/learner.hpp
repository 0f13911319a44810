// The loop of PPO: act for a rollout, compute returns and advantages (GAE), learn from them in epochs of
// shuffled batches until the policy has moved far enough (target_kl), forget them.
//
// Statistics that normalise observations move between rollouts only: within one, acting and learning
// see the same numbers.
#pragma once

#include "algo/common/learner_base.hpp"
#include "algo/ppo/ppo.hpp"
#include "memory/final_states.hpp"
#include "memory/rollout.hpp"

namespace hotloop {

// What its network says, and what it remembers of this environment.
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

  const Acted& acted() const { return acted_; }
  std::span<const float> advantages() const { return advantages_; }
  std::span<const float> returns() const { return returns_; }

 private:
  std::span<float> values_of(int head) { return acted_.values.subspan(head * acted_.value_stride); }
  void value_what_followed(ThreadTeam& team);
  void compute_returns();

  PpoOptions options_;
  Ppo ppo_;
  Rollout rollout_;
  FinalStates finals_;
  Arena arena_;
  Acted acted_;                    // values for T + 1 rows
  std::span<float> next_values_;   // [values, T, N] of what each step led to
  std::span<float> returns_;       // [values, T, N]
  std::span<float> advantages_;    // [T, N]
  std::span<std::int32_t> order_;  // [T * N] places, shuffled
  std::span<float> final_values_;  // [values, FinalStates::kRows]
};

}  // namespace hotloop
