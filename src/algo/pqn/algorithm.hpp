// pqn, and the base class of sarsa.
#pragma once

#include "algo/common/algorithm.hpp"

namespace hotloop {

class PqnAlgorithm : public Algorithm {
 public:
  std::string_view name() const override { return "pqn"; }
  std::string_view about() const override {
    return "Q-learning from the latest rollout, without replay memory or target network";
  }
  AlgorithmFacts facts() const override { return {.on_policy = true, .action_values = true}; }

  void set_defaults(AgentSpec& spec) const override;
  Keys keys(AgentSpec& spec) const override;
  void derive(AgentSpec& spec) const override;
  void check(const AgentSpec& spec, Violations& violations) const override;
  std::string describe(const AgentSpec& spec) const override;

  std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                        std::uint64_t seed) const override;
  Structure network(const AgentSpec& spec, const WorldFacts& world) const override;
  std::shared_ptr<const ActionHead> head(const AgentSpec& spec,
                                         const WorldFacts& world) const override;
  MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const override;
  std::string describe_memory(const AgentSpec& spec, const WorldFacts& world) const override;
  std::string too_large(const AgentSpec& spec, const WorldFacts& world,
                        double available) const override;

  LearningWork work(const AgentSpec& spec, const WorldFacts& world) const override;
  std::vector<Proposal> remedies(const AgentSpec& spec, const PhaseShare& share) const override;
  std::vector<std::string> with_envs(const AgentSpec& spec, int envs) const override;
  std::string_view updates_key() const override { return "algo.n_epochs or a larger algo.batch"; }
  std::string advice(Sign sign, const AgentSpec& spec) const override;
  const Schedule* random_actions(const AgentSpec& spec) const override;
};

}  // namespace hotloop
