// Checks whether a spec can be trained: environment and algorithm must fit together, and into
// memory. Also builds the network of the algorithm for the environment.
#pragma once

#include <memory>

#include "algo/common/algorithm.hpp"
#include "env/world_facts.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The mean return that counts as solved; NaN if neither spec nor environment defines one.
double solved_threshold(const EvaluationOptions& options, const EnvSpec& env);
double solved_threshold(const TrainSpec& spec);  // creates an environment

// Throws UsageError if the environment is unknown or not supported by the algorithm, or if training
// and its evaluations do not fit into memory. Returns the facts of the environment.
WorldFacts check_feasible(const TrainSpec& spec);

// Throws UsageError unless an evaluation fits into memory beside `other` bytes: it plays all its
// episodes at the same time, one per row.
void check_evaluation_fits(const Structure& network, const ActionHead& head, const EnvSpec& env,
                           int episodes, double other = 0);

// The network that acts, and its head. Each call creates an environment.
Structure network_structure(const TrainSpec& spec);
std::shared_ptr<const ActionHead> network_head(const TrainSpec& spec);

}  // namespace hotloop
