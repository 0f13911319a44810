// Dense layers: y = act(W x + b), for each of `rows` rows of x separately. A noisy layer also has
// learnt stds of W and b: see noise.hpp.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct DenseLayer {
  int rows = 1;
  int in = 0;      // of one row
  int out = 0;     // of one row
  int stride = 0;  // floats from one row of W to the next: padded_row(in)
  Activation activation = Activation::linear;
  float gain = 1;          // factor on the initial weights
  std::size_t weight = 0;  // offset of W [out, stride] in the flat array
  std::size_t bias = 0;    // offset of b [out]
  bool noisy = false;
  std::size_t weight_sigma = 0;  // noisy only: offset of sigma_W [out, stride]
  std::size_t bias_sigma = 0;    // noisy only: offset of sigma_b [out]
  float initial_sigma = 0;       // noisy only: initial value of every sigma

  int inputs() const { return rows * in; }
  int outputs() const { return rows * out; }
  bool operator==(const DenseLayer&) const = default;
};

void each_tensor(DenseLayer& layer, const TensorVisitor& visit);
void initialise(const DenseLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const DenseLayer& layer);
LayerMemory memory_of(const DenseLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const DenseLayer& layer);

}  // namespace hotloop
