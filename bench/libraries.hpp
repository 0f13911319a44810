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
  int times;  // per update: two forwards of each layer, one gradient of each kind

  double flop() const { return 2.0 * batch * in * out; }
  std::string name() const;
};

// All products of one update. Layers that read the observation need no input gradient.
std::vector<UpdateProduct> update_products(const Structure& net, int batch);

struct Contender {
  std::string library;
  std::function<void()> run;
};

// The product in Eigen, in oneDNN, in libxsmm over the whole batch, and in libxsmm over blocks of
// 32 lanes (what hotloop does). Contenders own their operands.
std::vector<Contender> contenders(const UpdateProduct& product);

}  // namespace hotloop::bench
