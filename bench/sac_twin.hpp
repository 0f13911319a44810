// The slow twins of SAC and its kin with the networks of a learner, on a random batch.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "algo/common/learner.hpp"

namespace hotloop::bench {

// One update of the twin; empty if `variant` has none.
std::function<void()> slow_update(std::string_view variant, Learner& learner, int actions,
                                  int batch);

}  // namespace hotloop::bench
