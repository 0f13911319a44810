// What a model file says about its environment, so that the model can be used where the environment
// is missing: its file was not copied, or it is a Python environment.
#pragma once

#include <hotloop/env.hpp>

#include <string>

#include "env/options.hpp"

namespace hotloop {

// Sizes, bounds, names of observation parts, and the notes of the worlds, as a JSON object.
std::string env_facts(const Worlds& worlds);

// Registers the environment with these facts, unless it is registered already. Its network can then
// be built and queried, but playing throws UsageError. Throws RunError if the facts are invalid, or
// if a registered environment has other sizes; `file` is where they come from.
void remember_env(const EnvChoice& env, const std::string& facts, const std::string& file);

// Whether `name` is a real environment, not only facts.
bool can_play(const std::string& name);

}  // namespace hotloop
