// An environment that runs in its own process, as an entry of the registry.
//
// The entry's arrays give the same bits as those of the environment itself. Its code is never loaded
// into this process. The process lives as long as any of its arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "env/options.hpp"

namespace hotloop {

// `load` runs in the other process. `shown` is the environment's name in messages. Throws what
// `load` throws, and WorldError if it crashes or hangs.
EnvEntry isolated_entry(std::function<EnvEntry()> load, const std::string& shown,
                        const Isolation& options);

// Extra time that isolation has cost this process so far.
struct IsolationCost {
  double seconds = 0;
  std::uint64_t vector_steps = 0;
};
IsolationCost isolation_cost();

}  // namespace hotloop
