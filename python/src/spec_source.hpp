// Specs requested by Python.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/spec.hpp"

namespace hotloop::python {

struct SpecRequest {
  std::string spec;  // a ready-made spec, a path or an algorithm; or the name of `text`
  std::optional<std::string> text;  // of a spec
  std::optional<std::string> env;   // instead of the spec's own
  std::vector<std::string> overrides;
};

// An algorithm's name means its general settings, which need an environment. Throws UsageError.
TrainSpec read_spec(const SpecRequest& request);

// The same with the interpreter lock released, because a file may have to be compiled. Also throws
// if the spec cannot be run.
TrainSpec feasible_spec(const SpecRequest& request);

}  // namespace hotloop::python
