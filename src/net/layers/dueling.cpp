// The dueling head (Wang et al. 2016). Per atom k, with x = [V | A]:
//
//   Q[a] = V + A[a] - mean of A;   dV = sum of dQ,   dA[a] = dQ[a] - mean of dQ
#include "net/layers/dueling.hpp"

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

// Features of one atom: `values` [actions], `atoms` features apart.
template <int kWidth>
Eigen::Array<float, kWidth, 1> sum_over_actions(const DuelingLayer& layer, const float* values) {
  Eigen::Array<float, kWidth, 1> sum = ConstLanes<kWidth>(values);
  for (int a = 1; a < layer.actions; ++a)
    sum += ConstLanes<kWidth>(values + a * layer.atoms * kLanes);
  return sum;
}

template <int kWidth>
void combine(const DuelingLayer& layer, const float* x, float* y) {
  for (int k = 0; k < layer.atoms; ++k) {
    const float* advantage = x + (layer.atoms + k) * kLanes;
    const Eigen::Array<float, kWidth, 1> base =
        ConstLanes<kWidth>(x + k * kLanes) -
        sum_over_actions<kWidth>(layer, advantage) / static_cast<float>(layer.actions);
    for (int a = 0; a < layer.actions; ++a) {
      const int feature = a * layer.atoms * kLanes;
      Lanes<kWidth>(y + k * kLanes + feature) = base + ConstLanes<kWidth>(advantage + feature);
    }
  }
}

template <int kWidth>
void separate(const DuelingLayer& layer, const float* dy, float* dx) {
  for (int k = 0; k < layer.atoms; ++k) {
    const float* d = dy + k * kLanes;
    const Eigen::Array<float, kWidth, 1> sum = sum_over_actions<kWidth>(layer, d);
    const Eigen::Array<float, kWidth, 1> mean = sum / static_cast<float>(layer.actions);
    Lanes<kWidth>(dx + k * kLanes) = sum;
    for (int a = 0; a < layer.actions; ++a) {
      const int feature = a * layer.atoms * kLanes;
      Lanes<kWidth>(dx + (layer.atoms + k) * kLanes + feature) =
          ConstLanes<kWidth>(d + feature) - mean;
    }
  }
}

class DuelingKernel final : public LayerKernel {
 public:
  explicit DuelingKernel(const DuelingLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return 0; }

 private:
  DuelingLayer layer_;
};

void DuelingKernel::forward(const ForwardBlock& b) const {
  with_width(b.width, [&]<int kWidth>() { combine<kWidth>(layer_, b.x, b.y); });
}

void DuelingKernel::forward_one(const float*, const float* x, float* y, float*) const {
  using Values = Eigen::Map<const Eigen::ArrayXf>;
  const float* advantages = x + layer_.atoms;
  Eigen::Map<Eigen::ArrayXf> base(y, layer_.atoms);  // action 0 is completed last
  base = Values(x, layer_.atoms);
  const auto advantage = [&](int a) { return Values(advantages + a * layer_.atoms, layer_.atoms); };
  for (int a = 0; a < layer_.actions; ++a)
    base -= advantage(a) / static_cast<float>(layer_.actions);
  for (int a = layer_.actions - 1; a >= 0; --a)
    Eigen::Map<Eigen::ArrayXf>(y + a * layer_.atoms, layer_.atoms) = base + advantage(a);
}

void DuelingKernel::backward(const BackwardBlock& b) const {
  if (b.dx == nullptr) return;
  with_width(b.width, [&]<int kWidth>() { separate<kWidth>(layer_, b.dy, b.dx); });
}

}  // namespace

void each_tensor(DuelingLayer&, const TensorVisitor&) {}
void initialise(const DuelingLayer&, Initialiser, const Draws&, float*) {}
double multiply_adds(const DuelingLayer&) { return 0; }
LayerMemory memory_of(const DuelingLayer&) { return {}; }

std::shared_ptr<const LayerKernel> make_kernel(const DuelingLayer& layer) {
  return std::make_shared<DuelingKernel>(layer);
}

}  // namespace hotloop
