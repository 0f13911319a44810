// The environment that a training spec selects: its name and the values of its options.
#pragma once

#include <hotloop/worlds.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hotloop {

// Options as they were written, sorted by name: {"grid", "10"}, {"obs", "flood"}.
using EnvOptions = std::vector<std::pair<std::string, std::string>>;

// How an environment from a file runs in its own process (env/isolate).
struct Isolation {
  bool on = false;
  double timeout_seconds = 60;  // for one call; without isolation, after which a warning says so
  double memory_gb = 0;         // that the process may allocate; 0 = no limit

  bool operator==(const Isolation&) const = default;
};

struct EnvChoice {
  std::string name;
  EnvOptions options{};
  Isolation isolation{};
};

// One number per option of the environment, in its order. Throws UsageError with the option's name,
// what was found and what is allowed.
std::vector<double> option_values(const EnvEntry& entry, const EnvOptions& options);

// The default values of a table of options.
std::vector<double> initial_values(std::span<const EnvOption> options);

// "integer, 4 to 32", "one of basic, flood".
std::string allowed_values(const EnvOption& option);

// "default 10", "default flood"; if it depends on other options, the description says how.
std::string initial_text(const EnvOption& option);

// Throw UsageError if the environment or an option is unknown. world_facts.hpp has more facts than
// the spec.
std::unique_ptr<Worlds> make_worlds(const EnvChoice& env, int count);
EnvSpec env_spec(const EnvChoice& env);  // with these options

}  // namespace hotloop
