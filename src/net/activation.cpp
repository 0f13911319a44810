#include "net/activation.hpp"

#include <Eigen/Core>
#include <algorithm>

#include "net/activation_formulas.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

template <Activation kActivation, int kWidth>
void activate(const float* bias, int features, float* z, float* slope) {
  using Array = Eigen::Array<float, kWidth, 1>;
  for (int f = 0; f < features; ++f) {
    Lanes<kWidth> y(z + f * kLanes);
    const Array x = y + bias[f];
    if constexpr (kActivation == Activation::gelu) {
      if (slope != nullptr) {
        const Array phi = normal_distribution(x);
        y = x * phi;
        Lanes<kWidth>(slope + f * kLanes) = gelu_slope(x, phi);
        continue;
      }
    }
    y = activation_of<kActivation>(x);
  }
}

template <Activation kActivation, int kWidth>
void differentiate(const float* outputs, const float* slope, int features, float* delta,
                   float* bias_gradient, bool accumulate) {
  using Array = Eigen::Array<float, kWidth, 1>;
  for (int f = 0; f < features; ++f) {
    const ConstLanes<kWidth> y(outputs + f * kLanes);
    Lanes<kWidth> d(delta + f * kLanes);
    if constexpr (kActivation == Activation::relu) {
      d = (y > 0.0f).select(d, Array::Zero());
    } else if constexpr (kActivation == Activation::leaky_relu) {
      d = (y > 0.0f).select(d, kLeakySlope * d);
    } else if constexpr (kActivation == Activation::tanh) {
      d *= 1.0f - y * y;
    } else if constexpr (kActivation == Activation::selu) {
      d *= (y > 0.0f).select(Array::Constant(kSeluScale), y + kSeluScale * kSeluAlpha);
    } else if constexpr (kActivation == Activation::gelu) {
      d *= ConstLanes<kWidth>(slope + f * kLanes);
    }
    const float sum = d.sum();
    bias_gradient[f] = accumulate ? bias_gradient[f] + sum : sum;
  }
}

}  // namespace

void add_bias_and_activate(Activation activation, const float* bias, int features, int width,
                           float* z, float* slope) {
  with_activation(activation, [&]<Activation kActivation>() {
    with_width(width,
               [&]<int kWidth>() { activate<kActivation, kWidth>(bias, features, z, slope); });
  });
}

void add_bias_and_activate_one(Activation activation, const float* bias, int features, float* z) {
  with_activation(activation, [&]<Activation kActivation>() {
    using Array = Eigen::Array<float, kLaneStep, 1>;
    const auto step = [](const float* b, float* at) {
      const Array x = Eigen::Map<const Array>(at) + Eigen::Map<const Array>(b);
      Eigen::Map<Array>{at} = activation_of<kActivation>(x);
    };
    int f = 0;
    for (; f + kLaneStep <= features; f += kLaneStep) step(bias + f, z + f);
    if (f == features) return;
    float rest[kLaneStep] = {};
    std::copy(z + f, z + features, rest);
    step(bias + f, rest);
    std::copy_n(rest, features - f, z + f);
  });
}

void backward_through_activation(Activation activation, const float* y, const float* slope,
                                 int features, int width, float* d, float* bias_gradient,
                                 bool accumulate) {
  with_activation(activation, [&]<Activation kActivation>() {
    with_width(width, [&]<int kWidth>() {
      differentiate<kActivation, kWidth>(y, slope, features, d, bias_gradient, accumulate);
    });
  });
}

}  // namespace hotloop
