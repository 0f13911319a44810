// What might help: changes of a spec, each aimed at phases that a profile shows to cost something.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "spec/spec.hpp"

namespace hotloop {

struct Remedy {
  std::string title;                   // "flood_fill bits instead of queue"
  std::vector<std::string> overrides;  // of the spec: "env.options.flood_fill=bits"
  std::vector<std::string> phases;     // that it is about: "env", "memory/draw"
  double share = 0;                    // of wall time that they cost
  bool same_result = false;            // training is the same to the bit
};

// Of the whole, by the names of phases or groups.
double share_of(const PhaseSeconds& seconds, const std::vector<std::string>& phases);

// The spec with more overrides after its own. Throws UsageError where they make no sense.
using SpecSource = std::function<TrainSpec(const std::vector<std::string>& overrides)>;

// Those that concern at least 2 % of the time and that the spec can bear, in the order in which to try
// them while there is time: first what leaves training as it is, then the largest bound.
std::vector<Remedy> propose(const Profile& profile, const SpecSource& source);

// Transitions that gradients see, per env step: what a remedy may make less of.
double learnt_per_step(const TrainSpec& spec);

// The overrides as a piece of YAML, "algo:\n  batch: 64\n".
std::string yaml_patch(const std::vector<std::string>& overrides);

}  // namespace hotloop
