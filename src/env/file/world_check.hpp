// `hotloop check`: the battery on one world, explained, and what often goes wrong besides.
#pragma once

#include <hotloop/env.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hotloop {

struct CheckOptions {
  double timeout = 5;  // seconds that one function of the world may take
  std::uint64_t seed = 1;
  int steps = 200;     // vector steps of each play; fewer if the world is slow
  int copies = 67;     // likewise
  double budget = 20;  // seconds that a slow world may take in all, roughly
};

// Something wrong, or suspicious, and what to do about it.
struct WorldFinding {
  std::string what;
  std::string hint;
};

struct CheckReport {
  std::string name;
  std::vector<WorldFinding> failures;  // none = the world passes
  std::vector<WorldFinding> warnings;
  std::vector<std::string> facts;  // sizes, episodes, rewards
  double steps_per_second = 0;     // one thread, random actions; 0 = not measured
  std::string compiler_warnings{};
};

// `name` is a registered environment or the file of a world. It runs in another process: a crash or a
// hang is a failure like others. Throws UsageError if there is no such world.
CheckReport check_world(const std::string& name, const CheckOptions& options);

// What helps against a failure of the battery, by its words.
std::string hint_for(const std::string& failure, const EnvSpec& spec);

// What random play of `entry` makes suspicious, and facts about it.
void look_at_play(const EnvEntry& entry, const CheckOptions& options, CheckReport& report);

}  // namespace hotloop
