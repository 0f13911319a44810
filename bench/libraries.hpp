// The bare matrix products of an update in the libraries that could compute them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/structure.hpp"

namespace hotloop::bench {

// One product of an update, Y [rows, columns] = L [rows, depth] * R [depth, columns], as in the
// formulas.
struct UpdateProduct {
  enum Kind { kForward, kWeightGradient, kInputGradient } kind;
  int batch, in, out;
  double times;  // per update

  double flop() const { return 2.0 * batch * in * out; }
  std::string name() const;
};

// How often each layer of a network is computed in an update.
struct Passes {
  double forward = 2;  // as in DQN: the target network's and the online network's
  double weight_gradient = 1;
  double input_gradient = 1;  // of layers that do not read the observation
  double to_inputs = 0;       // of layers that do
};

// All products of one update.
std::vector<UpdateProduct> update_products(const Structure& net, int batch,
                                           const Passes& passes = {});

struct Contender {
  std::string library;
  std::function<void()> run;
};

// The product in Eigen, in oneDNN, in libxsmm over the whole batch, and in libxsmm over blocks of
// 32 lanes (what hotloop does). Contenders own their operands.
std::vector<Contender> contenders(const UpdateProduct& product);

}  // namespace hotloop::bench
