// The host process: it loads the environment, and makes, steps and observes its rows as asked.
#pragma once

#include <sys/types.h>

#include <functional>

#include "env/isolate/channel.hpp"
#include "env/options.hpp"

namespace hotloop {

// Runs in a forked child until its parent ends. `memory` is the file behind `shared`.
[[noreturn]] void serve(SharedMemory& shared, int channels, int memory, pid_t parent,
                        const std::function<EnvEntry()>& load, const Isolation& options);

}  // namespace hotloop
