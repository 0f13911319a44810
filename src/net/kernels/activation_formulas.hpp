// Activations and their derivatives as formulas over arrays and vectors, for kernels that fuse
// them. activation.hpp has the constants.
#pragma once

#include <Eigen/Core>

#include "core/cpu/vec.hpp"
#include "net/kernels/activation.hpp"
#include "net/kernels/gelu.hpp"

namespace hotloop {

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
    static_assert(Array::SizeAtCompileTime % kVec == 0);
    Array y;
    for (int i = 0; i < y.size(); i += kVec) store(y.data() + i, gelu(load(x.data() + i)).value);
    return y;
  }
}

// da * act'(.): from the output a, or for GELU from the kept slope. Not in Eigen, which would
// compare lane by lane.
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

// Turns a runtime activation into a compile-time one.
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
