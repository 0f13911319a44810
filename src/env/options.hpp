// The environment that a training spec chooses: its name, and values of its options.
#pragma once

#include <hotloop/worlds.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hotloop {

// Options as they were written, sorted by name: {"grid", "10"}, {"obs", "flood"}.
using EnvOptions = std::vector<std::pair<std::string, std::string>>;

struct EnvChoice {
  std::string name;
  EnvOptions options{};
};

// A number for every option of the environment, in its order. Throws UsageError naming the option,
// what was found and what is allowed.
std::vector<double> option_values(const EnvEntry& entry, const EnvOptions& options);

// The initial values of a table of options.
std::vector<double> initial_values(std::span<const EnvOption> options);

// "integer, 4 to 32", "one of basic, flood".
std::string allowed_values(const EnvOption& option);

// "initially 10", "initially flood"; what follows from other options says so in its description.
std::string initial_text(const EnvOption& option);

// Throw UsageError if the environment or an option is unknown. For more facts than the spec, ask
// world_facts.hpp.
std::unique_ptr<Worlds> make_worlds(const EnvChoice& env, int count);
EnvSpec env_spec(const EnvChoice& env);  // as it is with these options

}  // namespace hotloop
