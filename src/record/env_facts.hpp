// What a model file says of its environment, so that the model can be used where the environment is
// not: the file of a world that was left behind, an environment of Python's.
#pragma once

#include <hotloop/env.hpp>

#include <string>

namespace hotloop {

// Sizes, bounds, names of parts, and notes of the worlds' own, as a JSON object.
std::string env_facts(const Worlds& worlds);

// Makes `name` known by its facts, unless it is known already: its network can then be built and
// asked, but an attempt to play is a UsageError. Throws RunError if the facts make no sense.
void remember_env(const std::string& name, const std::string& facts);

// Whether `name` is known for real.
bool can_play(const std::string& name);

}  // namespace hotloop
