// What must be known of an environment to learn in it: asked once, from one world, and handed on.
#pragma once

#include <hotloop/env.hpp>

#include "env/options.hpp"

namespace hotloop {

struct WorldFacts {
  EnvSpec spec;
  bool masks = false;
  int steps_between_truncations = 0;  // of one row, at least; 0 = it never truncates
};

WorldFacts world_facts(const WorldArray& worlds);
WorldFacts world_facts(const EnvChoice& env);  // makes a world to ask

}  // namespace hotloop
