// The sizes and facts of an environment, asked once and passed on.
#pragma once

#include <hotloop/env_spec.hpp>

#include "env/options.hpp"

namespace hotloop {

struct WorldFacts {
  EnvSpec spec;
  bool masks = false;                 // it says which discrete actions are allowed
  int steps_between_truncations = 0;  // minimum, in one row; 0 = it is never truncated
};

// As they are with the options of `env`; makes one copy to ask. Throws UsageError if the environment
// or an option is unknown.
WorldFacts world_facts(const EnvChoice& env);

}  // namespace hotloop
