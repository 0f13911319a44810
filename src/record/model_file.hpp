// A trained network as a file: weights by name, and everything needed to use them.
//
// A self-verifying safetensors file with the tensors of the network (`layer<i>.weight` [out, in],
// `layer<i>.bias` [out], ...: net/structure.hpp) and, if observations are normalised,
// `normaliser.mean` and `normaliser.factor` [inputs]. Its metadata holds the resolved spec, the
// facts about its environment, and the result of its evaluation.
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
  std::vector<float> input_mean = {};    // [inputs] of InputScale; both are empty if observations
  std::vector<float> input_factor = {};  // [inputs] are not normalised
  float reward_factor = 1;     // rewards were multiplied by this: the unit of the Q-values
  std::string env_facts = {};  // see env_facts.hpp; empty in old files
  std::int64_t env_steps = 0;
  double greedy_return = 0;  // NaN if it was never evaluated
};

void save_model(const std::string& path, const Model& model);
// Throws RunError if the file is damaged, if it has other tensors than its spec needs, or if a weight
// is not finite.
Model load_model(const std::string& path, FileKind kind = FileKind::regular);

// XXH3-64 of the parameters without padding, 16 hex digits; for a learner, over all its networks in
// order.
std::string parameters_hash(const Structure& structure, std::span<const float> parameters);
std::string parameters_hash(Learner& learner);

}  // namespace hotloop
