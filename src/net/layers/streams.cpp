// Two dense layers side by side: their halves lie one after the other in y, and in x too where the
// input is split. Where they read the same x, its gradient is the sum of theirs.
#include "net/lane_arrays.hpp"
#include "net/layers/layer_kernels.hpp"

namespace hotloop {
namespace {

// Where the advantage's part begins, in features.
int input_offset(const StreamsLayer& layer) { return layer.split_input ? layer.value.in : 0; }

}  // namespace

// Behind the scratch of the two: the advantage's dX [in][kLanes], where it is to be added.
LayerMemory memory_of(const StreamsLayer& layer) {
  const LayerMemory value = memory_of(layer.value), advantage = memory_of(layer.advantage);
  const std::size_t sum = layer.split_input ? 0 : static_cast<std::size_t>(layer.value.in) * kLanes;
  return {.kept = value.kept + advantage.kept, .scratch = value.scratch + advantage.scratch + sum};
}

void StreamsKernel::forward(const ForwardBlock& b) const {
  ForwardBlock second = b;
  second.x += input_offset(layer_) * kLanes;
  second.y += layer_.value.out * kLanes;
  if (b.kept != nullptr) second.kept += memory_of(layer_.value).kept * kLanes;
  value_.forward(b);
  advantage_.forward(second);
}

void StreamsKernel::forward_one(const float* parameters, const float* x, float* y,
                                float* inner) const {
  value_.forward_one(parameters, x, y, inner);
  advantage_.forward_one(parameters, x + input_offset(layer_), y + layer_.value.out, inner);
}

void StreamsKernel::backward(const BackwardBlock& b) const {
  BackwardBlock second = b;
  second.x += input_offset(layer_) * kLanes;
  second.y += layer_.value.out * kLanes;
  if (b.kept != nullptr) second.kept += memory_of(layer_.value).kept * kLanes;
  second.dy += layer_.value.out * kLanes;
  second.scratch += memory_of(layer_.value).scratch;
  const bool add = b.dx != nullptr && !layer_.split_input;
  if (add) {
    second.dx = second.scratch + memory_of(layer_.advantage).scratch;
  } else if (b.dx != nullptr) {
    second.dx += layer_.value.in * kLanes;
  }
  value_.backward(b);
  advantage_.backward(second);
  if (!add) return;
  with_width(b.width, [&]<int kWidth>() {
    for (int f = 0; f < layer_.value.in; ++f) {
      Lanes<kWidth> dx(b.dx + f * kLanes);
      dx += ConstLanes<kWidth>(second.dx + f * kLanes);
    }
  });
}

}  // namespace hotloop
