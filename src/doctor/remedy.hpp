// Remedies: changes to a spec, each for phases that cost time according to a profile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "spec/spec.hpp"

namespace hotloop {

struct Remedy {
  std::string title;                   // "flood_fill: bits instead of queue"
  std::vector<std::string> overrides;  // of the spec: "env.options.flood_fill=bits"
  std::vector<std::string> phases;     // that it affects: "env", "memory/draw"
  double share = 0;                    // of wall time in these phases
  bool same_result = false;            // training is the same to the bit
};

// Share of the total time in these phases or groups, given by name.
double share_of(const PhaseSeconds& seconds, const std::vector<std::string>& phases);

// The spec with these overrides after its own. Throws UsageError if they are invalid.
using SpecSource = std::function<TrainSpec(const std::vector<std::string>& overrides)>;

// Remedies that affect at least 2 % of the time and are valid for the spec, in the order to try
// them: first those that do not change training, then by largest bound.
std::vector<Remedy> propose(const Profile& profile, const SpecSource& source);

// Transitions per env step that gradients see. A remedy may reduce this.
double learnt_per_step(const TrainSpec& spec);

// The overrides as YAML: "algo: {batch: 64}\n".
std::string yaml_patch(const std::vector<std::string>& overrides);

}  // namespace hotloop
