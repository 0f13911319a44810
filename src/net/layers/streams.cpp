// Two dense layers side by side: their outputs are consecutive in y, and so are their inputs in x
// if the input is split. If they read the same x, its gradient is the sum of theirs.
#include "net/layers/streams.hpp"

#include <algorithm>

#include "net/initialise.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

// The first input feature of the advantage stream.
int input_offset(const StreamsLayer& layer) { return layer.split_input ? layer.value.in : 0; }

class StreamsKernel final : public LayerKernel {
 public:
  explicit StreamsKernel(const StreamsLayer& layer)
      : layer_(layer), value_(make_kernel(layer.value)), advantage_(make_kernel(layer.advantage)) {}
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override {
    return value_->gradient_parts() + advantage_->gradient_parts();
  }
  void add_gradient(const BackwardBlock& block, int first, int last) const override;

 private:
  BackwardBlock of_advantage(BackwardBlock block) const;

  StreamsLayer layer_;
  std::shared_ptr<const LayerKernel> value_, advantage_;
};

void StreamsKernel::forward(const ForwardBlock& b) const {
  ForwardBlock second = b;
  second.x += input_offset(layer_) * kLanes;
  second.y += layer_.value.out * kLanes;
  if (b.kept != nullptr) second.kept += memory_of(layer_.value).kept * kLanes;
  value_->forward(b);
  advantage_->forward(second);
}

void StreamsKernel::forward_one(const float* parameters, const float* x, float* y,
                                float* inner) const {
  value_->forward_one(parameters, x, y, inner);
  advantage_->forward_one(parameters, x + input_offset(layer_), y + layer_.value.out, inner);
}

// All but dx.
BackwardBlock StreamsKernel::of_advantage(BackwardBlock b) const {
  b.x += input_offset(layer_) * kLanes;
  b.y += layer_.value.out * kLanes;
  if (b.kept != nullptr) b.kept += memory_of(layer_.value).kept * kLanes;
  b.dy += layer_.value.out * kLanes;
  b.scratch += memory_of(layer_.value).scratch;
  if (b.rows != nullptr) b.rows += memory_of(layer_.value).rows * kLanes;
  return b;
}

void StreamsKernel::add_gradient(const BackwardBlock& b, int first, int last) const {
  const int of_value = value_->gradient_parts();
  if (first < of_value) value_->add_gradient(b, first, std::min(last, of_value));
  if (last > of_value)
    advantage_->add_gradient(of_advantage(b), std::max(first - of_value, 0), last - of_value);
}

void StreamsKernel::backward(const BackwardBlock& b) const {
  BackwardBlock second = of_advantage(b);
  const bool add = b.dx != nullptr && !layer_.split_input;
  if (add) {
    second.dx = second.scratch + memory_of(layer_.advantage).scratch;
  } else if (b.dx != nullptr) {
    second.dx += layer_.value.in * kLanes;
  }
  value_->backward(b);
  advantage_->backward(second);
  if (!add) return;
  with_width(b.width, [&]<int kWidth>() {
    for (int f = 0; f < layer_.value.in; ++f) {
      Lanes<kWidth> dx(b.dx + f * kLanes);
      dx += ConstLanes<kWidth>(second.dx + f * kLanes);
    }
  });
}

}  // namespace

void each_tensor(StreamsLayer& layer, const TensorVisitor& visit) {
  each_tensor(layer.value, InnerTensors("value", visit));
  each_tensor(layer.advantage, InnerTensors("advantage", visit));
}

// The advantage's random streams follow the value's.
void initialise(const StreamsLayer& layer, Initialiser init, const Draws& draws,
                float* parameters) {
  initialise(layer.value, init, draws, parameters);
  initialise(layer.advantage, init, draws.after(layer.value.out), parameters);
}

double multiply_adds(const StreamsLayer& layer) {
  return multiply_adds(layer.value) + multiply_adds(layer.advantage);
}

// After the scratch of the two: the advantage's dX [in][kLanes], if it has to be added.
LayerMemory memory_of(const StreamsLayer& layer) {
  const LayerMemory value = memory_of(layer.value), advantage = memory_of(layer.advantage);
  const std::size_t sum = layer.split_input ? 0 : static_cast<std::size_t>(layer.value.in) * kLanes;
  return {.kept = value.kept + advantage.kept,
          .scratch = value.scratch + advantage.scratch + sum,
          .rows = value.rows + advantage.rows};
}

std::shared_ptr<const LayerKernel> make_kernel(const StreamsLayer& layer) {
  return std::make_shared<StreamsKernel>(layer);
}

}  // namespace hotloop
