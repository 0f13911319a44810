// Whether a spec can be trained at all: its environment, its algorithm and the memory of this machine
// together; and what the algorithm makes of the environment.
#pragma once

#include <memory>

#include "algo/common/algorithm.hpp"
#include "env/world_facts.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The mean return that counts as solved; NaN if neither spec nor environment says.
double solved_threshold(const EvaluationOptions& options, const EnvSpec& env);
double solved_threshold(const TrainSpec& spec);  // makes a world to ask

// Throws UsageError if the environment is unknown or not for this algorithm, or if what is learnt from
// cannot fit into memory. Returns what it asked of the environment.
WorldFacts check_feasible(const TrainSpec& spec);

// Of the network that acts. Each makes a world to ask.
Structure network_structure(const TrainSpec& spec);
std::shared_ptr<const ActionHead> network_head(const TrainSpec& spec);

}  // namespace hotloop
