// Specs for Dqn, Pqn and Ppo alone, outside of a training run.
#pragma once

#include <any>
#include <utility>

#include "algo/common/agent_spec.hpp"

namespace hotloop {

// The options of an agent other than its algorithm's own.
struct AgentParts {
  LearningOptions learn = {};
  OptimiserOptions optimiser = {};
  Initialiser init = Initialiser::pytorch;
  int envs = 1;
};

// agent(DqnOptions{.double_q = true}, {.learn = {.batch = 8}})
inline AgentSpec agent(std::any options, const AgentParts& parts = {}) {
  AgentSpec spec;
  spec.envs = parts.envs;
  spec.options = std::move(options);
  spec.learn = parts.learn;
  spec.net.init = parts.init;
  spec.optimiser = parts.optimiser;
  return spec;
}

}  // namespace hotloop
