#include "env/world_facts.hpp"

#include "env/vector_worlds.hpp"

namespace hotloop {

WorldFacts world_facts(const WorldArray& worlds) {
  return {.spec = worlds.spec(),
          .masks = worlds.has_mask(),
          .steps_between_truncations = steps_between_truncations(worlds)};
}

WorldFacts world_facts(const EnvChoice& env) { return world_facts(*make_worlds(env, 1)); }

}  // namespace hotloop
