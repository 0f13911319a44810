// Two dense layers side by side, y = [value(x) | advantage(x)], which share only x; with
// `split_input` they share nothing: x = [x of value | x of advantage].
#pragma once

#include "net/layers/dense.hpp"

namespace hotloop {

struct StreamsLayer {
  DenseLayer value;
  DenseLayer advantage;
  bool split_input = false;

  int inputs() const { return split_input ? value.in + advantage.in : value.in; }
  int outputs() const { return value.out + advantage.out; }
  bool operator==(const StreamsLayer&) const = default;
};

void each_tensor(StreamsLayer& layer, const TensorVisitor& visit);
void initialise(const StreamsLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const StreamsLayer& layer);
LayerMemory memory_of(const StreamsLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const StreamsLayer& layer);

}  // namespace hotloop
