// A trained network as a file: weights by name and everything needed to use them again.
//
// A self-verifying safetensors file with `layer<i>.weight` [out, in] and `layer<i>.bias` [out]; its
// metadata holds the resolved spec and the evaluation that stands with it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "net/structure.hpp"
#include "run/evaluation.hpp"
#include "run/spec.hpp"

namespace hotloop {

struct Model {
  TrainSpec spec;
  Structure structure;
  std::vector<float> parameters;  // flat, structure.storage floats
  std::int64_t env_steps = 0;
  double greedy_return = 0;  // NaN if it was never evaluated
};

void save_model(const std::string& path, const Model& model);
Model load_model(const std::string& path);

// XXH3-64 of the real parameters (padding left out), 16 hex digits.
std::string parameters_hash(const Structure& structure, std::span<const float> parameters);

}  // namespace hotloop
