// Layer normalisation (Ba et al. 2016):
//   y = act(scale * (x - mean) / sqrt(variance + 1e-5) + shift)
// with the mean and the (biased) variance of one sample over its features; 1e-5 as in PyTorch.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct NormLayer {
  int width = 0;
  Activation activation = Activation::linear;
  std::size_t scale = 0;  // offset of scale [width]
  std::size_t shift = 0;  // offset of shift [width]

  int inputs() const { return width; }
  int outputs() const { return width; }
  bool operator==(const NormLayer&) const = default;
};
inline constexpr float kNormEpsilon = 1e-5f;

void each_tensor(NormLayer& layer, const TensorVisitor& visit);
void initialise(const NormLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const NormLayer& layer);
LayerMemory memory_of(const NormLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const NormLayer& layer);

}  // namespace hotloop
