// The slow twin of src/net: a network written like the formulas, one sample and one number at a
// time, in any precision. Tests and benchmarks only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "net/structure.hpp"
#include "reference/activation.hpp"
#include "reference/dag.hpp"
#include "reference/forest.hpp"

namespace hotloop::reference {

// Every kind of layer is y = act(z), where z is a function of x. Parameters, gradients and moments
// have the layout of Structure: W [out, stride], b [out], scale and shift [width].

template <class T>
std::vector<T> preactivation(const DenseLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  std::vector<T> z;
  for (int r = 0; r < layer.rows; ++r) {
    for (int o = 0; o < layer.out; ++o) {
      z.push_back(p[layer.bias + o]);
      for (int i = 0; i < layer.in; ++i)
        z.back() += p[layer.weight + o * layer.stride + i] * x[r * layer.in + i];
    }
  }
  return z;
}

// Adds to the gradient and returns dx.
template <class T>
std::vector<T> backward(const DenseLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dz, std::span<T> gradient) {
  std::vector<T> dx(layer.inputs(), T(0));
  for (int r = 0; r < layer.rows; ++r) {
    for (int o = 0; o < layer.out; ++o) {
      const T d = dz[r * layer.out + o];
      gradient[layer.bias + o] += d;
      for (int i = 0; i < layer.in; ++i) {
        gradient[layer.weight + o * layer.stride + i] += d * x[r * layer.in + i];
        dx[r * layer.in + i] += d * p[layer.weight + o * layer.stride + i];
      }
    }
  }
  return dx;
}

// Calls visit(output, weight, input) for every product of an element of W and an element of x.
template <class F>
void each_product(const ConvLayer& layer, F&& visit) {
  for (int r = 0; r < layer.height; ++r) {
    for (int s = 0; s < layer.width; ++s) {
      for (int o = 0; o < layer.out; ++o) {
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) {
            const int row = r + i - 1, column = s + j - 1;
            if (row < 0 || row >= layer.height || column < 0 || column >= layer.width) continue;
            for (int c = 0; c < layer.in; ++c) {
              visit((r * layer.width + s) * layer.out + o,
                    layer.weight + o * layer.stride + (i * 3 + j) * layer.in + c,
                    (row * layer.width + column) * layer.in + c);
            }
          }
        }
      }
    }
  }
}

template <class T>
std::vector<T> preactivation(const ConvLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  std::vector<T> z(layer.outputs());
  for (int o = 0; o < layer.outputs(); ++o) z[o] = p[layer.bias + o % layer.out];
  each_product(
      layer, [&](int output, std::size_t weight, int input) { z[output] += p[weight] * x[input]; });
  return z;
}

template <class T>
std::vector<T> backward(const ConvLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dz, std::span<T> gradient) {
  std::vector<T> dx(layer.inputs(), T(0));
  for (int o = 0; o < layer.outputs(); ++o) gradient[layer.bias + o % layer.out] += dz[o];
  each_product(layer, [&](int output, std::size_t weight, int input) {
    gradient[weight] += dz[output] * x[input];
    dx[input] += dz[output] * p[weight];
  });
  return dx;
}

template <class T>
std::vector<T> preactivation(const StreamsLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  const auto middle = x.begin() + (layer.split_input ? layer.value.in : 0);
  std::vector<T> z = preactivation<T>(layer.value, p, x);
  const std::vector<T> more = preactivation<T>(layer.advantage, p, {middle, x.end()});
  z.insert(z.end(), more.begin(), more.end());
  return z;
}

template <class T>
std::vector<T> backward(const StreamsLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dz, std::span<T> gradient) {
  const int second = layer.split_input ? layer.value.in : 0;
  const auto middle = dz.begin() + layer.value.out;
  std::vector<T> dx = backward<T>(layer.value, p, x, {dz.begin(), middle}, gradient);
  const std::vector<T> more =
      backward<T>(layer.advantage, p, {x.begin() + second, x.end()}, {middle, dz.end()}, gradient);
  dx.resize(x.size());
  for (std::size_t i = 0; i < more.size(); ++i) dx[second + i] += more[i];
  return dx;
}

template <class T>
struct Moments {
  T mean = 0, sigma = 0;  // sigma = sqrt(variance + 1e-5)

  explicit Moments(const std::vector<T>& x) {
    T variance = 0;
    for (T value : x) mean += value / T(x.size());
    for (T value : x) variance += (value - mean) * (value - mean) / T(x.size());
    sigma = std::sqrt(variance + T(kNormEpsilon));
  }
};

template <class T>
std::vector<T> preactivation(const NormLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  const Moments<T> m(x);
  std::vector<T> z(layer.width);
  for (int i = 0; i < layer.width; ++i)
    z[i] = p[layer.scale + i] * (x[i] - m.mean) / m.sigma + p[layer.shift + i];
  return z;
}

// n_i = (x_i - mean) / sigma has dn_i/dx_j = ([i = j] - 1/N - n_i n_j / N) / sigma.
template <class T>
std::vector<T> backward(const NormLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dz, std::span<T> gradient) {
  const Moments<T> m(x);
  const auto n = [&](int i) { return (x[i] - m.mean) / m.sigma; };
  std::vector<T> dx(layer.width, T(0));
  for (int i = 0; i < layer.width; ++i) {
    gradient[layer.scale + i] += dz[i] * n(i);
    gradient[layer.shift + i] += dz[i];
    for (int j = 0; j < layer.width; ++j) {
      const T slope = (T(i == j) - (1 + n(i) * n(j)) / T(layer.width)) / m.sigma;
      dx[j] += dz[i] * p[layer.scale + i] * slope;
    }
  }
  return dx;
}

template <class T>
std::vector<T> preactivation(const DuelingLayer& layer, std::span<const T>,
                             const std::vector<T>& x) {
  const auto [actions, atoms] = layer;
  std::vector<T> q(actions * atoms);
  for (int a = 0; a < actions; ++a) {
    for (int k = 0; k < atoms; ++k) {
      T mean = 0;
      for (int b = 0; b < actions; ++b) mean += x[atoms + b * atoms + k] / T(actions);
      q[a * atoms + k] = x[k] + x[atoms + a * atoms + k] - mean;
    }
  }
  return q;
}

template <class T>
std::vector<T> backward(const DuelingLayer& layer, std::span<const T>, const std::vector<T>& x,
                        const std::vector<T>& dq, std::span<T>) {
  const auto [actions, atoms] = layer;
  std::vector<T> dx(x.size(), T(0));
  for (int a = 0; a < actions; ++a) {
    for (int k = 0; k < atoms; ++k) {
      dx[k] += dq[a * atoms + k];
      dx[atoms + a * atoms + k] += dq[a * atoms + k];
      for (int b = 0; b < actions; ++b) dx[atoms + b * atoms + k] -= dq[a * atoms + k] / T(actions);
    }
  }
  return dx;
}

// t = tanh(W h_i + b) and the weights w of attention.
template <class T>
struct Attended {
  std::vector<T> z, t, w;

  Attended(const AttentionLayer& layer, std::span<const T> p, const std::vector<T>& x)
      : z(preactivation<T>(layer.hidden, p, x)) {
    for (T value : z) t.push_back(std::tanh(value));
    w = preactivation<T>(layer.score, p, t);
    T sum = 0;
    for (T& value : w) sum += value = std::exp(value);
    for (T& value : w) value /= sum;
  }
};

template <class T>
std::vector<T> preactivation(const AttentionLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  const Attended<T> inside(layer, p, x);
  std::vector<T> y(layer.width(), T(0));
  for (int i = 0; i < layer.rows(); ++i) {
    for (int f = 0; f < layer.width(); ++f) y[f] += inside.w[i] * x[i * layer.width() + f];
  }
  return y;
}

// dw_i / ds_j = w_i ([i = j] - w_j).
template <class T>
std::vector<T> backward(const AttentionLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dy, std::span<T> gradient) {
  const Attended<T> inside(layer, p, x);
  const std::vector<T>& w = inside.w;
  std::vector<T> ds(layer.rows(), T(0));
  for (int i = 0; i < layer.rows(); ++i) {
    T dw = 0;
    for (int f = 0; f < layer.width(); ++f) dw += dy[f] * x[i * layer.width() + f];
    for (int j = 0; j < layer.rows(); ++j) ds[j] += dw * w[i] * (T(i == j) - w[j]);
  }
  std::vector<T> dz = backward<T>(layer.score, p, inside.t, ds, gradient);
  for (std::size_t i = 0; i < dz.size(); ++i) dz[i] *= 1 - inside.t[i] * inside.t[i];
  std::vector<T> dx = backward<T>(layer.hidden, p, x, dz, gradient);
  for (int i = 0; i < layer.rows(); ++i) {
    for (int f = 0; f < layer.width(); ++f) dx[i * layer.width() + f] += w[i] * dy[f];
  }
  return dx;
}

template <class T>
std::vector<T> preactivation(const CopyLayer&, std::span<const T>, const std::vector<T>& x) {
  return x;
}
template <class T>
std::vector<T> backward(const CopyLayer&, std::span<const T>, const std::vector<T>&,
                        const std::vector<T>& dy, std::span<T>) {
  return dy;
}

template <class T>
std::vector<T> preactivation(const ConstantLayer& layer, std::span<const T> p,
                             const std::vector<T>&) {
  return {p.begin() + layer.value, p.begin() + layer.value + layer.width};
}
template <class T>
std::vector<T> backward(const ConstantLayer& layer, std::span<const T>, const std::vector<T>&,
                        const std::vector<T>& dy, std::span<T> gradient) {
  for (int f = 0; f < layer.width; ++f) gradient[layer.value + f] += dy[f];
  return {};
}

// Dropout and batch norm in evaluation; training_network.hpp has their training passes.
template <class T>
std::vector<T> preactivation(const DropoutLayer&, std::span<const T>, const std::vector<T>& x) {
  return x;
}
template <class T>
std::vector<T> backward(const DropoutLayer&, std::span<const T>, const std::vector<T>&,
                        const std::vector<T>& dy, std::span<T>) {
  return dy;
}

template <class T>
T running_sigma(const BatchNormLayer& layer, std::span<const T> p, int f) {
  return std::sqrt(p[layer.variance + f] + T(kBatchNormEpsilon));
}

template <class T>
std::vector<T> preactivation(const BatchNormLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  std::vector<T> y(layer.width);
  for (int f = 0; f < layer.width; ++f) {
    const T n = (x[f] - p[layer.mean + f]) / running_sigma(layer, p, f);
    y[f] = p[layer.scale + f] * n + p[layer.shift + f];
  }
  return y;
}
template <class T>
std::vector<T> backward(const BatchNormLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dy, std::span<T> gradient) {
  std::vector<T> dx(layer.width);
  for (int f = 0; f < layer.width; ++f) {
    const T sigma = running_sigma(layer, p, f);
    gradient[layer.scale + f] += dy[f] * (x[f] - p[layer.mean + f]) / sigma;
    gradient[layer.shift + f] += dy[f];
    dx[f] = dy[f] * p[layer.scale + f] / sigma;
  }
  return dx;
}

// DagLayer applies the activations itself.
template <class T>
std::vector<T> preactivation(const DagLayer& layer, std::span<const T> p, const std::vector<T>& x) {
  return Dag<T>(layer, p).forward(x);
}

template <class T>
std::vector<T> backward(const DagLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dy, std::span<T> gradient) {
  Dag<T> dag(layer, p);
  dag.forward(x);
  return dag.backward(dy, gradient);
}

// ForestLayer embeds its result itself.
template <class T>
std::vector<T> preactivation(const ForestLayer& layer, std::span<const T> p,
                             const std::vector<T>& x) {
  return TokenTransformer<T>(layer, p).result(token_graph(layer, x));
}
template <class T>
std::vector<T> backward(const ForestLayer& layer, std::span<const T> p, const std::vector<T>& x,
                        const std::vector<T>& dy, std::span<T> gradient) {
  return add_gradient<T>(layer, p, x, dy, gradient, [](TokenGraph<Taped>&) {});
}

inline Activation activation_of(const DenseLayer& layer) { return layer.activation; }
inline Activation activation_of(const ConvLayer& layer) { return layer.activation; }
inline Activation activation_of(const NormLayer& layer) { return layer.activation; }
inline Activation activation_of(const StreamsLayer& layer) { return layer.value.activation; }
inline Activation activation_of(const DuelingLayer&) { return Activation::linear; }
inline Activation activation_of(const DagLayer&) { return Activation::linear; }
inline Activation activation_of(const AttentionLayer&) { return Activation::linear; }
inline Activation activation_of(const CopyLayer&) { return Activation::linear; }
inline Activation activation_of(const ConstantLayer&) { return Activation::linear; }
inline Activation activation_of(const ForestLayer&) { return Activation::linear; }
inline Activation activation_of(const DropoutLayer&) { return Activation::linear; }
inline Activation activation_of(const BatchNormLayer&) { return Activation::linear; }

template <class T>
struct Trace {
  std::vector<std::vector<T>> z;  // [layer][out]
  std::vector<std::vector<T>> y;  // [layer + 1][width]; y[0] is the input
  std::vector<T> features;        // as in Structure
};

template <class T>
std::vector<T> input_of(const Structure& net, std::size_t layer, const std::vector<T>& features) {
  const auto first = features.begin() + net.places[layer].from;
  return {first, first + inputs_of(net.layers[layer])};
}

template <class T>
Trace<T> forward(const Structure& net, std::span<const T> parameters, std::span<const T> x) {
  Trace<T> trace;
  trace.y.emplace_back(x.begin(), x.end());
  trace.features.assign(x.begin(), x.end());
  trace.features.resize(net.features);
  for (std::size_t l = 0; l < net.layers.size(); ++l) {
    std::visit(
        [&](const auto& kind) {
          const auto z = preactivation<T>(kind, parameters, input_of(net, l, trace.features));
          std::vector<T> y;
          for (T value : z) y.push_back(activate(activation_of(kind), value));
          std::copy(y.begin(), y.end(), trace.features.begin() + net.places[l].to);
          trace.z.push_back(z);
          trace.y.push_back(y);
        },
        net.layers[l]);
  }
  return trace;
}

// Adds the gradient of one sample, given dL/dy of the output, and returns dL/dx.
template <class T>
std::vector<T> backward(const Structure& net, std::span<const T> parameters, const Trace<T>& trace,
                        const std::vector<T>& dy, std::span<T> gradient) {
  std::vector<T> deltas(net.features, T(0));  // dL/dfeature
  std::copy(dy.begin(), dy.end(), deltas.begin() + net.outputs_at);
  for (int l = static_cast<int>(net.layers.size()) - 1; l >= 0; --l) {
    std::visit(
        [&](const auto& kind) {
          const auto first = deltas.begin() + net.places[l].to;
          std::vector<T> dz(first, first + kind.outputs());
          for (std::size_t o = 0; o < dz.size(); ++o)
            dz[o] *= slope(activation_of(kind), trace.z[l][o]);
          const std::vector<T> dx =
              backward<T>(kind, parameters, input_of(net, l, trace.features), dz, gradient);
          for (std::size_t i = 0; i < dx.size(); ++i) deltas[net.places[l].from + i] += dx[i];
        },
        net.layers[l]);
  }
  return {deltas.begin(), deltas.begin() + net.inputs};
}

// What an InputScale does to one sample.
template <class T>
std::vector<T> scale_input(std::span<const float> x, std::span<const float> mean,
                           std::span<const float> factor) {
  std::vector<T> scaled;
  for (std::size_t i = 0; i < x.size(); ++i)
    scaled.push_back(std::clamp((T(x[i]) - T(mean[i])) * T(factor[i]), T(-10), T(10)));
  return scaled;
}

// From dL/dy, where y is the result of scale_input, to dL/dx.
template <class T>
std::vector<T> unscale_gradient(std::span<const float> x, std::span<const float> mean,
                                std::span<const float> factor, std::vector<T> d) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool clamped = std::abs((T(x[i]) - T(mean[i])) * T(factor[i])) >= T(10);
    d[i] *= clamped ? T(0) : T(factor[i]);
  }
  return d;
}

}  // namespace hotloop::reference
