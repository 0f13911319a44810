// y = its parameters, the same for every observation.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct ConstantLayer {
  int width = 0;
  float initial = 0;
  std::size_t value = 0;  // offset of value [width]

  int inputs() const { return 0; }
  int outputs() const { return width; }
  bool operator==(const ConstantLayer&) const = default;
};

void each_tensor(ConstantLayer& layer, const TensorVisitor& visit);
void initialise(const ConstantLayer& layer, Initialiser init, const Draws& draws,
                float* parameters);
double multiply_adds(const ConstantLayer& layer);
LayerMemory memory_of(const ConstantLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const ConstantLayer& layer);

}  // namespace hotloop
