// Recorded episodes as a file: what `hotloop eval --record` writes, and a run can start from.
//
// A self-verifying safetensors file with the arrays of Demonstrations under their names: `obs`
// [T, D], `actions` [T] (I32) or [T, size] (F32, in the units of the environment), `rewards` [T],
// `terminated` [T] and `truncated` [T] (U8), `final_obs` [E, D], and with masks `mask` [T, A] and
// `final_mask` [E, A] (U8). Its metadata names the environment and what its transitions consist of.
#pragma once

#include <string>

#include "memory/demonstrations.hpp"

namespace hotloop {

class Safetensors;

struct TransitionFile {
  std::string env;  // see recorded_name()
  Demonstrations transitions;
};

// The name under which an environment is recorded: of a file without its folder, and of a Python
// function without the part that differs between processes.
std::string recorded_name(const std::string& env);

void save_transitions(const std::string& path, const TransitionFile& file);
// Throws RunError unless every number is one that save_transitions() could have written.
TransitionFile load_transitions(const std::string& path);
TransitionFile load_transitions(const Safetensors& from, const std::string& path);

// Throws RunError that begins with `place` unless the arrays fit each other and the kind.
void check_transitions(const Demonstrations& transitions, const std::string& place);

// XXH3-64 of environment, kind and arrays, 16 hex digits; not of the file's name or layout.
std::string transitions_hash(const TransitionFile& file);

}  // namespace hotloop
