// The part of a spec that decides how an agent learns.
#pragma once

#include <algorithm>
#include <any>
#include <cstdint>
#include <string>

#include "core/system.hpp"
#include "net/options.hpp"

namespace hotloop {

class Algorithm;

// What the trainer needs to know about any algorithm: how many updates, and when. The algorithm
// decides which of these are spec keys. The others keep their defaults or are derived from its own
// options.
struct LearningOptions {
  double gamma = 0.99;
  int batch = 64;                    // transitions per gradient
  int accumulate = 1;                // batches averaged into one update
  std::int64_t learning_starts = 0;  // env steps without updates at the beginning
  double updates_per_step = 1;       // gradient updates per env step after that
  std::int64_t train_every = 1;      // env steps in a round, followed by its updates
  std::int64_t train_offset = 0;     // shifts the end of each round by this many env steps
  bool pipelined = false;            // collects the next round while learning from this one
  // Running statistics are part of the model and frozen during evaluation.
  bool normalise_obs = false;
  bool normalise_rewards = false;
  // A file of transitions that are in the replay before training, and the hash of its content;
  // empty = none.
  std::string demonstrations = {}, demonstrations_hash = {};
};

inline constexpr int kMaxThreads = 256;

struct AgentSpec {
  int envs = 1;
  // That share the work; the result does not depend on them. 0 = as many as are fastest.
  int threads = 1;
  const Algorithm* algorithm = nullptr;
  std::any options;  // the algorithm's own; only its folder knows the type
  LearningOptions learn;
  NetOptions net;
  OptimiserOptions optimiser;

  int max_threads() const { return threads > 0 ? threads : std::min(usable_cores(), kMaxThreads); }
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
