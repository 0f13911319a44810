// Activations and their derivatives as formulas over arrays and vectors, for kernels that fuse them with something else.
// activation.hpp has the constants.
#pragma once

#include <unsupported/Eigen/SpecialFunctions>

#include <Eigen/Core>
#include <numbers>

#include "net/activation.hpp"
#include "net/vec.hpp"

namespace hotloop {

// The distribution function of the standard normal, Phi.
template <class Array>
Array normal_distribution(const Array& x) {
  constexpr float kSqrtHalf = std::numbers::sqrt2_v<float> / 2;
  return 0.5f * (1.0f + (x * kSqrtHalf).erf());
}

// act(x); `leaky` is leaky ReLU's slope below zero.
template <Activation kActivation, class Array>
Array activation_of(const Array& x, float leaky = kLeakySlope) {
  if constexpr (kActivation == Activation::linear) {
    return x;
  } else if constexpr (kActivation == Activation::relu) {
    return x.max(0.0f);
  } else if constexpr (kActivation == Activation::leaky_relu) {
    return x.max(0.0f) + leaky * x.min(0.0f);
  } else if constexpr (kActivation == Activation::tanh) {
    return x.tanh();
  } else if constexpr (kActivation == Activation::selu) {
    return kSeluScale * (x.max(0.0f) + kSeluAlpha * (x.min(0.0f).exp() - 1.0f));
  } else {
    return x * normal_distribution(x);
  }
}

// GELU's derivative at x, given Phi(x).
template <class Array>
Array gelu_slope(const Array& x, const Array& phi) {
  constexpr float kInvSqrtTwoPi =
      std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float> / 2;
  return phi + x * kInvSqrtTwoPi * (-0.5f * x * x).exp();
}

// da * act'(.): from the output a, or for GELU from the slope that was kept. Eigen would compare lane by
// lane.
template <Activation kActivation>
inline Vec differentiate(Vec da, Vec a, const float* slope, float leaky = kLeakySlope) {
  constexpr float kSeluFloor = kSeluScale * kSeluAlpha;
  if constexpr (kActivation == Activation::linear) {
    return da;
  } else if constexpr (kActivation == Activation::relu) {
    return a > 0 ? da : Vec{};
  } else if constexpr (kActivation == Activation::leaky_relu) {
    return a > 0 ? da : da * leaky;
  } else if constexpr (kActivation == Activation::tanh) {
    return da * (1 - a * a);
  } else if constexpr (kActivation == Activation::selu) {
    return da * (a > 0 ? broadcast(kSeluScale) : a + kSeluFloor);
  } else {
    return da * load(slope);
  }
}

// A runtime activation to a compile-time one.
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

}  // namespace hotloop
