// The slow twin of src/net/kernels/activation: one number at a time, in any precision.
#pragma once

#include <cmath>
#include <numbers>

#include "net/kernels/activation.hpp"

namespace hotloop::reference {

// `leaky` is the slope of leaky ReLU below zero.
template <class T>
T activate(Activation activation, T z, T leaky = T(kLeakySlope)) {
  switch (activation) {
    case Activation::linear:
      return z;
    case Activation::relu:
      return z > 0 ? z : T(0);
    case Activation::leaky_relu:
      return z > 0 ? z : leaky * z;
    case Activation::tanh:
      return std::tanh(z);
    case Activation::selu:
      return T(kSeluScale) * (z > 0 ? z : T(kSeluAlpha) * (std::exp(z) - 1));
    case Activation::gelu:
      return z * T(0.5) * (1 + std::erf(z / std::numbers::sqrt2_v<T>));
  }
  return z;
}

template <class T>
T slope(Activation activation, T z, T leaky = T(kLeakySlope)) {
  switch (activation) {
    case Activation::linear:
      return 1;
    case Activation::relu:
      return z > 0 ? 1 : 0;
    case Activation::leaky_relu:
      return z > 0 ? T(1) : leaky;
    case Activation::tanh:
      return 1 - std::tanh(z) * std::tanh(z);
    case Activation::selu:
      return T(kSeluScale) * (z > 0 ? T(1) : T(kSeluAlpha) * std::exp(z));
    case Activation::gelu:
      return T(0.5) * (1 + std::erf(z / std::numbers::sqrt2_v<T>)) +
             z * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
  }
  return 1;
}

}  // namespace hotloop::reference
