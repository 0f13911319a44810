// The slow twins of SAC and its kin with the networks of a learner, on a random batch.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "algo/common/learner.hpp"

namespace hotloop::bench {

// `count` updates of the twin of "sac", "tqc", "crossq" or "td3"; the last one also updates the actor.
std::function<void()> slow_updates(std::string_view variant, Learner& learner, int actions,
                                   int batch, int count);

}  // namespace hotloop::bench
