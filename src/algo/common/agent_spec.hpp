// The part of a spec that decides how an agent learns.
#pragma once

#include <any>
#include <cstdint>

#include "net/options.hpp"

namespace hotloop {

class Algorithm;

// What the trainer must know of any algorithm: how much is learnt, and when. Which of these are keys
// of the spec is the algorithm's choice; the others keep their values or follow from its own options.
struct LearningOptions {
  double gamma = 0.99;
  int batch = 64;                    // transitions per gradient
  int accumulate = 1;                // batches whose mean gradient makes one update
  std::int64_t learning_starts = 0;  // env steps of pure collection first
  double updates_per_step = 1;       // gradient updates per env step from then on
  std::int64_t train_every = 1;      // env steps in a round; its updates follow at once
  std::int64_t train_offset = 0;     // rounds end this many env steps after the multiples
  bool pipelined = false;            // the next round is collected while this one is learnt
  // Statistics that live in the model and are frozen in evaluation.
  bool normalise_obs = false;
  bool normalise_rewards = false;
};

struct AgentSpec {
  int envs = 1;
  const Algorithm* algorithm = nullptr;
  std::any options;  // the algorithm's own, of a type that only its folder knows
  LearningOptions learn;
  NetOptions net;
  OptimiserOptions optimiser;
};

template <class Options>
Options& options_of(AgentSpec& spec) {
  return std::any_cast<Options&>(spec.options);
}
template <class Options>
const Options& options_of(const AgentSpec& spec) {
  return std::any_cast<const Options&>(spec.options);
}

}  // namespace hotloop
