#include "env/world_facts.hpp"

namespace hotloop {

WorldFacts world_facts(const EnvChoice& env) {
  const std::unique_ptr<Worlds> world = make_worlds(env, 1);
  return {.spec = world->spec(),
          .masks = world->has_mask(),
          .steps_between_truncations = world->steps_between_truncations()};
}

}  // namespace hotloop
