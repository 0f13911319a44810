// A spec as Python asks for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/spec.hpp"

namespace hotloop::python {

struct SpecRequest {
  std::string spec;  // a ready-made one, a path, an algorithm; or what to call a text
  std::optional<std::string> text;  // of a spec
  std::optional<std::string> env;   // instead of the spec's own
  std::vector<std::string> overrides;
};

// An algorithm's name means its general settings, which need an environment. Throws UsageError.
TrainSpec read_spec(const SpecRequest& request);

// The same with the interpreter lock released, since a world of a file may have to be compiled; throws if
// it cannot be run, too.
TrainSpec feasible_spec(const SpecRequest& request);

}  // namespace hotloop::python
