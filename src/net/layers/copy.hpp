// y = x: copies features to where they are needed.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct CopyLayer {
  int width = 0;

  int inputs() const { return width; }
  int outputs() const { return width; }
  bool operator==(const CopyLayer&) const = default;
};

void each_tensor(CopyLayer& layer, const TensorVisitor& visit);
void initialise(const CopyLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const CopyLayer& layer);
LayerMemory memory_of(const CopyLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const CopyLayer& layer);

}  // namespace hotloop
