#include "net/layers/copy.hpp"

#include <algorithm>

namespace hotloop {
namespace {

class CopyKernel final : public LayerKernel {
 public:
  explicit CopyKernel(const CopyLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const override { copy(block.x, block.width, block.y); }
  void forward_one(const float*, const float* x, float* y, float*) const override {
    std::copy_n(x, layer_.width, y);
  }
  void backward(const BackwardBlock& block) const override {
    if (block.dx != nullptr) copy(block.dy, block.width, block.dx);
  }
  int gradient_parts() const override { return 0; }

 private:
  void copy(const float* from, int width, float* to) const {
    for (int at = 0; at < layer_.width * kLanes; at += kLanes)
      std::copy_n(from + at, width, to + at);
  }

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
