// Limits on what an environment says about itself, for those that the compiler has not checked: a
// plug-in, or an environment in another process. Arrays are sized and indexed by these numbers.
#pragma once

#include <hotloop/env_spec.hpp>

#include <cstddef>
#include <string>

namespace hotloop {

inline constexpr int kMaxWidth = 1 << 24;  // of an observation; discrete actions
inline constexpr std::size_t kMaxRowBytes = std::size_t{1} << 30;  // of the saved state of a row
inline constexpr int kMaxPictureSide = 1 << 14;                    // pixels

// What is wrong with the numbers of a spec: "obs is 0; allowed: 1 to 16777216". Empty if nothing is.
std::string spec_problem(const EnvSpec& spec);

}  // namespace hotloop
