// What the algorithms with continuous actions and a replay memory have in common, as the rest of
// the program sees them: keys, checks, sizes, and remedies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algo/common/algorithm.hpp"
#include "algo/common/continuous/options.hpp"

namespace hotloop {

class ContinuousAlgorithm : public Algorithm {
 public:
  AlgorithmFacts facts() const final {
    return {.discrete = false, .continuous = true, .masks = false, .pipelines = true};
  }
  void derive(AgentSpec& spec) const final;
  void check(const AgentSpec& spec, Violations& violations) const override;
  Structure network(const AgentSpec& spec, const WorldFacts& world) const final;
  std::shared_ptr<const ActionHead> head(const AgentSpec& spec,
                                         const WorldFacts& world) const final;
  MemoryNeed memory_need(const AgentSpec& spec, const WorldFacts& world) const final;
  std::string describe(const AgentSpec& spec) const override;
  std::string describe_memory(const AgentSpec& spec, const WorldFacts& world) const final;
  std::int64_t replay_capacity(const AgentSpec& spec) const final;
  std::string too_large(const AgentSpec& spec, const WorldFacts& world,
                        double available) const final;
  LearningWork work(const AgentSpec& spec, const WorldFacts& world) const final;
  std::vector<Proposal> remedies(const AgentSpec& spec, const PhaseShare& share) const final;
  std::vector<std::string> with_envs(const AgentSpec& spec, int envs) const final;
  std::string advice(Sign sign, const AgentSpec& spec) const final;

 protected:
  virtual ContinuousOptions& shared(AgentSpec& spec) const = 0;
  virtual const ContinuousOptions& shared(const AgentSpec& spec) const = 0;
  virtual bool has_std() const = 0;  // the actor's outputs are means and log stds

  static void set_shared_defaults(AgentSpec& spec);
  // The shared keys with those of the algorithm among them.
  Keys keys_with(Keys own, AgentSpec& spec) const;
};

}  // namespace hotloop
