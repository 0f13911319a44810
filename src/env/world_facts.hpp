// The facts of an environment that learning needs: asked once, from one copy, and passed on.
#pragma once

#include <hotloop/worlds.hpp>

#include "env/options.hpp"

namespace hotloop {

struct WorldFacts {
  EnvSpec spec;
  bool masks = false;                 // it says which discrete actions are allowed
  int steps_between_truncations = 0;  // minimum, in one row; 0 = it is never truncated
};

WorldFacts world_facts(const Worlds& worlds);
// As they are with the options of `env`; makes one copy to ask. Throws UsageError if the environment
// or an option is unknown.
WorldFacts world_facts(const EnvChoice& env);

}  // namespace hotloop
