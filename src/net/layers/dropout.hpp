// Dropout (Srivastava et al. 2014):
//   y = x * mask / (1 - p) in training passes, with a mask of ones and, with probability p, zeros;
//   y = x otherwise.
//
// p is rounded to a multiple of 2^-16 (0.01 becomes 655 / 65536), in the probability and in the
// factor, so that the mean of y is x. Feature f of a row is dropped if 16 bits, half f % 2 (the
// lower one first) of word f / 2 in a range of words, are less than p * 2^16. Words are those of
// the stream (seed, dropout, stream << 24 | row in the whole batch, step); the range of layer l
// starts at word l << 14. So masks do not depend on threads. docs/networks.md says
// where dropout is in a network.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct DropoutLayer {
  int width = 0;
  double rate = 0;  // p, below 1

  int inputs() const { return width; }
  int outputs() const { return width; }
  bool operator==(const DropoutLayer&) const = default;
};

void each_tensor(DropoutLayer& layer, const TensorVisitor& visit);
void initialise(const DropoutLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const DropoutLayer& layer);
LayerMemory memory_of(const DropoutLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const DropoutLayer& layer);

}  // namespace hotloop
