// `hotloop check`: the battery on one environment, common mistakes, and explanations of both.
#pragma once

#include <hotloop/env.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hotloop {

struct CheckOptions {
  double timeout = 5;  // seconds that one function of the environment may take
  std::uint64_t seed = 1;
  int steps = 200;     // vector steps of each play; fewer if the environment is slow
  int copies = 67;     // likewise
  double budget = 20;  // seconds that the check of a slow environment may take, roughly
};

// Something wrong, or suspicious, and what to do about it.
struct WorldFinding {
  std::string what;
  std::string hint;
};

struct CheckReport {
  std::string name;
  std::vector<WorldFinding> failures;  // none = the environment passes
  std::vector<WorldFinding> warnings;
  std::vector<std::string> facts;  // sizes, episodes, rewards
  double steps_per_second = 0;     // one thread, random actions; 0 = not measured
  std::string compiler_warnings{};
};

// `name` is a registered environment or a file, named by the user: its code may run. It runs in another process: a crash or a hang is a
// failure like any other. Throws UsageError if there is no such environment.
CheckReport check_world(const std::string& name, const CheckOptions& options);

// Advice for a failure of the battery, selected by words in its text.
std::string hint_for(const std::string& failure, const EnvSpec& spec);

// Plays `entry` at random; adds facts and warnings to the report.
void look_at_play(const EnvEntry& entry, const CheckOptions& options, CheckReport& report);

}  // namespace hotloop
