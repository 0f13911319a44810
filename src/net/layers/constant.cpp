#include "net/layers/constant.hpp"

#include <algorithm>

namespace hotloop {
namespace {

class ConstantKernel final : public LayerKernel {
 public:
  explicit ConstantKernel(const ConstantLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const override {
    for (int f = 0; f < layer_.width; ++f) {
      std::fill_n(block.y + f * kLanes, block.width, block.parameters[layer_.value + f]);
    }
  }
  void forward_one(const float* parameters, const float*, float* y, float*) const override {
    std::copy_n(parameters + layer_.value, layer_.width, y);
  }
  void backward(const BackwardBlock& block) const override {
    if (block.gradient == nullptr) return;
    for (int f = 0; f < layer_.width; ++f) {
      float& gradient = block.gradient[layer_.value + f];
      if (!block.accumulate) gradient = 0;
      for (int lane = 0; lane < block.width; ++lane) gradient += block.dy[f * kLanes + lane];
    }
  }
  int gradient_parts() const override { return 1; }
  void add_gradient(const BackwardBlock& block, int, int) const override { backward(block); }

 private:
  ConstantLayer layer_;
};

}  // namespace

void each_tensor(ConstantLayer& layer, const TensorVisitor& visit) {
  visit.vector("value", layer.value, layer.width);
}

void initialise(const ConstantLayer& layer, Initialiser, const Draws&, float* parameters) {
  std::fill_n(parameters + layer.value, layer.width, layer.initial);
}

double multiply_adds(const ConstantLayer&) { return 0; }
LayerMemory memory_of(const ConstantLayer&) { return {}; }

std::shared_ptr<const LayerKernel> make_kernel(const ConstantLayer& layer) {
  return std::make_shared<ConstantKernel>(layer);
}

}  // namespace hotloop
