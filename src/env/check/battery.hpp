// The test battery that every environment inherits.
//
// - Random play, with continuous actions both inside and exactly at their bounds, must stay finite
//   and within the declared sizes.
// - Observations and masks must fill exactly their row.
// - The same seed must give the same bits, and another seed must play differently.
// - An episode must not depend on earlier ones.
// - A restored environment must continue exactly as the saved one.
// - If it says which states are valid (is_valid), it refuses bytes at random, or plays on from them.
// - The whole-batch step, any number of threads and the obvious one-by-one loop must agree.
// - The time limit must truncate exactly and never count as termination.
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
  std::vector<double> values{};  // of the environment's options; empty = the defaults
};

// Only the first check, random play of the bare worlds: sizes, finiteness, flags, masks. Returns
// the failure, if any.
std::optional<std::string> check_random_play(const EnvEntry& entry, const BatteryOptions& options);

// One sentence per failed check: what was expected, what was found, the row and the first step with
// a difference; empty if the environment passes. Skips checks that could only repeat a failure.
std::vector<std::string> check_env(const EnvEntry& entry, const BatteryOptions& options = {});

}  // namespace hotloop
