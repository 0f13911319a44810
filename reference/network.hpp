// The slow twin of src/net: a dense network written as the formulas are, one sample and one number
// at a time, in any precision. Tests and benchmarks only.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "net/activation.hpp"
#include "net/structure.hpp"

namespace hotloop::reference {

template <class T>
T activate(Activation activation, T z) {
  switch (activation) {
    case Activation::linear:
      return z;
    case Activation::relu:
      return z > 0 ? z : T(0);
    case Activation::leaky_relu:
      return z > 0 ? z : T(kLeakySlope) * z;
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
T slope(Activation activation, T z) {
  switch (activation) {
    case Activation::linear:
      return 1;
    case Activation::relu:
      return z > 0 ? 1 : 0;
    case Activation::leaky_relu:
      return z > 0 ? T(1) : T(kLeakySlope);
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

// Parameters, gradients and moments all lie as Structure says: W [out, stride], b [out].
template <class T>
struct Trace {
  std::vector<std::vector<T>> z;  // [layer][out]
  std::vector<std::vector<T>> y;  // [layer + 1][width]; y[0] is the input
};

template <class T>
Trace<T> forward(const Structure& net, std::span<const T> parameters, std::span<const T> x) {
  Trace<T> trace;
  trace.y.emplace_back(x.begin(), x.end());
  for (const DenseLayer& layer : net.layers) {
    std::vector<T> z(layer.out), y(layer.out);
    for (int o = 0; o < layer.out; ++o) {
      z[o] = parameters[layer.bias + o];
      for (int i = 0; i < layer.in; ++i)
        z[o] += parameters[layer.weight + o * layer.stride + i] * trace.y.back()[i];
      y[o] = activate(layer.activation, z[o]);
    }
    trace.z.push_back(z);
    trace.y.push_back(y);
  }
  return trace;
}

// Adds the gradient of one sample, given dL/dy of the output.
template <class T>
void backward(const Structure& net, std::span<const T> parameters, const Trace<T>& trace,
              std::vector<T> dy, std::span<T> gradient) {
  for (int l = static_cast<int>(net.layers.size()) - 1; l >= 0; --l) {
    const DenseLayer& layer = net.layers[l];
    std::vector<T> dx(layer.in, T(0));
    for (int o = 0; o < layer.out; ++o) {
      const T dz = dy[o] * slope(layer.activation, trace.z[l][o]);
      gradient[layer.bias + o] += dz;
      for (int i = 0; i < layer.in; ++i) {
        gradient[layer.weight + o * layer.stride + i] += dz * trace.y[l][i];
        dx[i] += dz * parameters[layer.weight + o * layer.stride + i];
      }
    }
    dy = dx;
  }
}

}  // namespace hotloop::reference
