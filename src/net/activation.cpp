#include "net/activation.hpp"

#include <unsupported/Eigen/SpecialFunctions>

#include <Eigen/Core>
#include <numbers>

#include "net/lanes.hpp"

namespace hotloop {
namespace {

// One feature of a block: 8, 16, 24 or 32 lanes. A compile-time width lets the compiler unroll.
template <int kWidth>
using Lanes = Eigen::Map<Eigen::Array<float, kWidth, 1>, Eigen::Aligned32>;
template <int kWidth>
using ConstLanes = Eigen::Map<const Eigen::Array<float, kWidth, 1>, Eigen::Aligned32>;

template <Activation kActivation, int kWidth>
void activate(const float* bias, int features, float* z, float* slope) {
  constexpr float kSqrtHalf = std::numbers::sqrt2_v<float> / 2;
  constexpr float kInvSqrtTwoPi = std::numbers::inv_sqrtpi_v<float> * kSqrtHalf;
  for (int f = 0; f < features; ++f) {
    Lanes<kWidth> y(z + f * kLanes);
    const Eigen::Array<float, kWidth, 1> x = y + bias[f];
    if constexpr (kActivation == Activation::linear) {
      y = x;
    } else if constexpr (kActivation == Activation::relu) {
      y = x.max(0.0f);
    } else if constexpr (kActivation == Activation::leaky_relu) {
      y = x.max(0.0f) + kLeakySlope * x.min(0.0f);
    } else if constexpr (kActivation == Activation::tanh) {
      y = x.tanh();
    } else if constexpr (kActivation == Activation::selu) {
      y = kSeluScale * (x.max(0.0f) + kSeluAlpha * (x.min(0.0f).exp() - 1.0f));
    } else {
      const Eigen::Array<float, kWidth, 1> phi = 0.5f * (1.0f + (x * kSqrtHalf).erf());
      y = x * phi;
      if (slope != nullptr) {
        Lanes<kWidth>(slope + f * kLanes) = phi + x * kInvSqrtTwoPi * (-0.5f * x * x).exp();
      }
    }
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

// Runtime activation and width to compile-time ones.
template <class F>
void with_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::linear:
      return f.template operator()<Activation::linear>();
    case Activation::relu:
      return f.template operator()<Activation::relu>();
    case Activation::leaky_relu:
      return f.template operator()<Activation::leaky_relu>();
    case Activation::tanh:
      return f.template operator()<Activation::tanh>();
    case Activation::selu:
      return f.template operator()<Activation::selu>();
    case Activation::gelu:
      return f.template operator()<Activation::gelu>();
  }
}

template <class F>
void with_width(int width, F&& f) {
  switch (width) {
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    case 24:
      return f.template operator()<24>();
    default:
      return f.template operator()<32>();
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
