// The facts about an environment that learning needs, read once from one copy.
#pragma once

#include <hotloop/worlds.hpp>

#include "env/options.hpp"

namespace hotloop {

struct WorldFacts {
  EnvSpec spec;
  bool masks = false;                 // it has a mask of allowed discrete actions
  int steps_between_truncations = 0;  // minimum, in one row; 0 = it is never truncated
};

WorldFacts world_facts(const Worlds& worlds);
// With the options of `env`; makes one copy to read the facts from. Throws UsageError if the
// environment or an option is unknown.
WorldFacts world_facts(const EnvChoice& env);

}  // namespace hotloop
