#include "net/layers/copy.hpp"

#include <algorithm>

namespace hotloop {
namespace {

class CopyKernel final : public LayerKernel {
 public:
  explicit CopyKernel(const CopyLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const override {
    std::copy_n(block.x, layer_.width * kLanes, block.y);
  }
  void forward_one(const float*, const float* x, float* y, float*) const override {
    std::copy_n(x, layer_.width, y);
  }
  void backward(const BackwardBlock& block) const override {
    if (block.dx != nullptr) std::copy_n(block.dy, layer_.width * kLanes, block.dx);
  }

 private:
  CopyLayer layer_;
};

}  // namespace

void each_tensor(CopyLayer&, const TensorVisitor&) {}
void initialise(const CopyLayer&, Initialiser, const Draws&, float*) {}
double multiply_adds(const CopyLayer&) { return 0; }
LayerMemory memory_of(const CopyLayer&) { return {}; }

std::shared_ptr<const LayerKernel> make_kernel(const CopyLayer& layer) {
  return std::make_shared<CopyKernel>(layer);
}

}  // namespace hotloop
