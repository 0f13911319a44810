// td3, as the rest of the program sees it; ddpg is the same with other settings.
#pragma once

#include "algo/common/continuous/algorithm.hpp"
#include "algo/td3/options.hpp"

namespace hotloop {

class Td3Algorithm : public ContinuousAlgorithm {
 public:
  std::string_view name() const override { return "td3"; }
  std::string_view about() const override {
    return "deterministic actor with twin critics, for continuous actions";
  }
  void set_defaults(AgentSpec& spec) const override;
  Keys keys(AgentSpec& spec) const override;
  void check(const AgentSpec& spec, Violations& violations) const override;
  std::unique_ptr<Learner> make_learner(const AgentSpec& spec, const WorldFacts& world,
                                        std::uint64_t seed) const override;

 protected:
  ContinuousOptions& shared(AgentSpec& spec) const override { return options_of<Td3Options>(spec); }
  const ContinuousOptions& shared(const AgentSpec& spec) const override {
    return options_of<Td3Options>(spec);
  }
  bool has_std() const override { return false; }
};

}  // namespace hotloop
