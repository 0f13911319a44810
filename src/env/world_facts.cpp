#include "env/world_facts.hpp"

namespace hotloop {

WorldFacts world_facts(const Worlds& worlds) {
  return {.spec = worlds.spec(),
          .masks = worlds.has_mask(),
          .steps_between_truncations = worlds.steps_between_truncations()};
}

WorldFacts world_facts(const EnvChoice& env) { return world_facts(*make_worlds(env, 1)); }

}  // namespace hotloop
