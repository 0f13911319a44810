// Builds the networks of algorithms from a spec and the facts of the environment.
#pragma once

#include "algo/common/agent_spec.hpp"
#include "algo/common/key.hpp"
#include "algo/common/q/head.hpp"
#include "env/world_facts.hpp"
#include "net/structure.hpp"

namespace hotloop {

// The shape of the observation if it is a single grid; otherwise size 0. Throws UsageError if the
// spec has convolutions but the observation is not a grid.
GridShape grid_of(const AgentSpec& spec, const EnvSpec& env);
std::vector<InputPart> parts_of(const EnvSpec& env);

// The network from observations to Q(s, a).
Structure q_structure(const AgentSpec& spec, const WorldFacts& world, const QHead& head);

// algo.normalise.obs and algo.normalise.rewards.
Keys normalise_keys(LearningOptions& options);

// What to try when gradients are large.
std::string gradient_advice(const AgentSpec& spec, bool loss_is_mse);

}  // namespace hotloop
