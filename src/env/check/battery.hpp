// The test battery that every environment inherits.
//
// Random play, for continuous actions both inside their bounds and exactly at them, must stay within
// the declared sizes and finite; observations and masks must fill exactly their row; a seed must repeat
// to the bit and another seed must play differently; an episode must not depend on those before it; a
// saved environment must continue as if nothing had happened; the whole-batch step, any number of
// threads and the obvious one-by-one loop must agree; the time limit must truncate exactly and never
// count as termination.
#pragma once

#include <hotloop/env.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotloop {

struct BatteryOptions {
  int rows = 67;    // more than two SIMD registers of bytes, and not a multiple of anything
  int steps = 200;  // vector steps of each play
  std::uint64_t seed = 1;
  std::vector<double> values{};  // of the environment's options; none = the initial ones
};

// Only the first check, random play of the bare worlds: sizes, finiteness, flags, masks. Returns what
// is wrong, if anything.
std::optional<std::string> check_random_play(const EnvEntry& entry, const BatteryOptions& options);

// One sentence per failed check, with what was expected, what was found, the row and the first step
// with a difference; empty if the environment passes. Checks that could only repeat a failure are
// skipped.
std::vector<std::string> check_env(const EnvEntry& entry, const BatteryOptions& options = {});

}  // namespace hotloop
