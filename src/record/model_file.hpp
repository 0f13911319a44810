// A trained network as a file: weights by name and everything needed to use them again.
//
// A self-verifying safetensors file with the tensors of the network (`layer<i>.weight` [out, in],
// `layer<i>.bias` [out], ...: net/structure.hpp) and, if observations are normalised,
// `normaliser.mean` and `normaliser.factor` [inputs]; its metadata holds the resolved spec, what
// must be known of its environment, and the evaluation that stands with it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluate/evaluation.hpp"
#include "net/structure.hpp"
#include "spec/spec.hpp"

namespace hotloop {

class Learner;

struct Model {
  TrainSpec spec;
  Structure structure;
  std::vector<float> parameters;         // flat, structure.storage floats
  std::vector<float> input_mean = {};    // [inputs] of InputScale; empty: observations are used as
  std::vector<float> input_factor = {};  // [inputs] they are
  float reward_factor = 1;     // rewards were multiplied by this: the unit of the Q-values
  std::string env_facts = {};  // see env_facts.hpp; empty in old files
  std::int64_t env_steps = 0;
  double greedy_return = 0;  // NaN if it was never evaluated
};

void save_model(const std::string& path, const Model& model);
Model load_model(const std::string& path);

// XXH3-64 of the real parameters (padding left out), 16 hex digits; of all networks of a learner in order.
std::string parameters_hash(const Structure& structure, std::span<const float> parameters);
std::string parameters_hash(Learner& learner);

}  // namespace hotloop
