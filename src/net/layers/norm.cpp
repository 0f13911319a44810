// Layer normalisation (Ba et al. 2016) over lanes: N features reduce to one vector of lanes.
//
//   n = (x - mean) / sqrt(variance + 1e-5),  y = act(scale n + shift)
//   dz = dy act'(z),  dshift = sum dz,  dscale = sum dz n,  with g = scale dz:
//   dx = (g - mean of g - n * mean of g n) / sqrt(variance + 1e-5)
#include "net/layers/norm.hpp"

#include <algorithm>
#include <cmath>

#include "net/kernels/activation.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

// z = scale n; `statistics`, if wanted, receives the mean and 1 / sqrt(variance + 1e-5).
template <int kWidth>
void normalise(const float* x, const float* scale, int features, float* z, float* statistics) {
  using Array = Eigen::Array<float, kWidth, 1>;
  const auto count = static_cast<float>(features);
  Array sum = Array::Zero();
  for (int f = 0; f < features; ++f) sum += ConstLanes<kWidth>(x + f * kLanes);
  const Array mean = sum / count;
  Array squares = Array::Zero();
  for (int f = 0; f < features; ++f) {
    const Array centred = ConstLanes<kWidth>(x + f * kLanes) - mean;
    squares += centred * centred;
  }
  const Array inverse = 1.0f / square_roots<kWidth>(squares / count + kNormEpsilon);
  for (int f = 0; f < features; ++f) {
    Lanes<kWidth>(z + f * kLanes) =
        (ConstLanes<kWidth>(x + f * kLanes) - mean) * (inverse * scale[f]);
  }
  if (statistics == nullptr) return;
  Lanes<kWidth>{statistics} = mean;
  Lanes<kWidth>{statistics + kLanes} = inverse;
}

// From dz to dscale and dx, null where not wanted.
template <int kWidth>
void differentiate(const float* x, const float* statistics, const float* scale, int features,
                   const float* dz, float* scale_gradient, bool accumulate, float* dx) {
  using Array = Eigen::Array<float, kWidth, 1>;
  const Array mean = ConstLanes<kWidth>(statistics);
  const Array inverse = ConstLanes<kWidth>(statistics + kLanes);
  Array sum = Array::Zero(), sum_n = Array::Zero();  // of g and of g n
  for (int f = 0; f < features; ++f) {
    const ConstLanes<kWidth> d(dz + f * kLanes);
    const Array dn = d * ((ConstLanes<kWidth>(x + f * kLanes) - mean) * inverse);
    if (scale_gradient != nullptr) {
      const float total = dn.sum();
      scale_gradient[f] = accumulate ? scale_gradient[f] + total : total;
    }
    sum += d * scale[f];
    sum_n += dn * scale[f];
  }
  if (dx == nullptr) return;
  const auto count = static_cast<float>(features);
  const Array mean_g = sum * inverse / count;
  const Array mean_gn = sum_n * inverse * inverse / count;
  for (int f = 0; f < features; ++f) {
    const Array centred = ConstLanes<kWidth>(x + f * kLanes) - mean;
    Lanes<kWidth>(dx + f * kLanes) =
        ConstLanes<kWidth>(dz + f * kLanes) * (inverse * scale[f]) - mean_g - centred * mean_gn;
  }
}

// Kept: mean, 1 / sqrt(variance + 1e-5), and the slope of GELU.
constexpr int kStatistics = 2;

class NormKernel final : public LayerKernel {
 public:
  explicit NormKernel(const NormLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return 1; }
  void add_gradient(const BackwardBlock& block, int first, int last) const override;

 private:
  NormLayer layer_;
};

void NormKernel::forward(const ForwardBlock& b) const {
  with_width(b.width, [&]<int kWidth>() {
    normalise<kWidth>(b.x, b.parameters + layer_.scale, layer_.width, b.y, b.kept);
  });
  float* slope = b.kept == nullptr ? nullptr : b.kept + kStatistics * kLanes;
  add_bias_and_activate(layer_.activation, b.parameters + layer_.shift, layer_.width, b.width, b.y,
                        slope);
}

void NormKernel::forward_one(const float* parameters, const float* x, float* y, float*) const {
  const Eigen::Map<const Eigen::ArrayXf> in(x, layer_.width);
  const Eigen::Map<const Eigen::ArrayXf> scale(parameters + layer_.scale, layer_.width);
  const float mean = in.mean();
  const float variance = (in - mean).square().mean();
  const float inverse = 1.0f / std::sqrt(variance + kNormEpsilon);
  Eigen::Map<Eigen::ArrayXf>(y, layer_.width) = (in - mean) * (inverse * scale);
  add_bias_and_activate_one(layer_.activation, parameters + layer_.shift, layer_.width, y);
}

void NormKernel::backward(const BackwardBlock& b) const {
  backward_through_activation(layer_.activation, b.y, b.kept + kStatistics * kLanes, layer_.width,
                              b.width, b.dy, b.gradient_of(layer_.shift), b.accumulate);
  with_width(b.width, [&]<int kWidth>() {
    differentiate<kWidth>(b.x, b.kept, b.parameters + layer_.scale, layer_.width, b.dy,
                          b.gradient_of(layer_.scale), b.accumulate, b.dx);
  });
}

void NormKernel::add_gradient(const BackwardBlock& b, int, int) const {
  add_bias_gradient(b.dy, layer_.width, b.width, b.gradient + layer_.shift, b.accumulate);
  with_width(b.width, [&]<int kWidth>() {
    differentiate<kWidth>(b.x, b.kept, b.parameters + layer_.scale, layer_.width, b.dy,
                          b.gradient + layer_.scale, b.accumulate, nullptr);
  });
}

}  // namespace

void each_tensor(NormLayer& layer, const TensorVisitor& visit) {
  visit.vector("scale", layer.scale, layer.width);
  visit.vector("shift", layer.shift, layer.width);
}

void initialise(const NormLayer& layer, Initialiser, const Draws&, float* parameters) {
  std::fill_n(parameters + layer.scale, layer.width, 1.0f);  // the identity
}

double multiply_adds(const NormLayer&) { return 0; }

LayerMemory memory_of(const NormLayer& layer) {
  return {.kept = kStatistics + (layer.activation == Activation::gelu ? layer.width : 0)};
}

std::shared_ptr<const LayerKernel> make_kernel(const NormLayer& layer) {
  return std::make_shared<NormKernel>(layer);
}

}  // namespace hotloop
