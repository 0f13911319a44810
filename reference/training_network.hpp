// The slow twin of training passes: a whole batch through a network with dropout and batch norm,
// one number at a time, in any precision. Tests only.
#pragma once

#include <map>

#include <hotloop/rng.hpp>

#include "reference/network.hpp"

namespace hotloop::reference {

template <class T>
using Table = std::vector<std::vector<T>>;  // [rows][features]

// What each feature of a row of the whole batch is multiplied by: see dropout.hpp.
template <class T>
std::vector<T> dropout_factors(const DropoutLayer& layer, const TrainingPass& pass, int index,
                               int row) {
  const auto dropped = static_cast<std::uint32_t>(std::lround(layer.rate * 65536));
  std::vector<T> factors;
  for (int f = 0; f < layer.width; ++f) {
    Rng rng(RngState{.seed = pass.seed,
                     .purpose = Purpose::dropout,
                     .lane = (pass.stream << 24) + static_cast<std::uint32_t>(row),
                     .step = pass.step,
                     .draws = static_cast<std::uint32_t>((index << 14) + f / 2)});
    const std::uint32_t word = rng.bits(), bits = f % 2 == 0 ? word % 65536 : word / 65536;
    factors.push_back(bits < dropped ? T(0) : 1 / (1 - T(dropped) / 65536));
  }
  return factors;
}

// Per feature of a batch norm layer. The backward pass treats r and d as constants.
template <class T>
struct BatchNormPass {
  std::vector<T> mean, variance, sigma, r, d;

  BatchNormPass(const BatchNormLayer& layer, std::span<const T> p, const Table<T>& x) {
    for (int f = 0; f < layer.width; ++f) {
      T m = 0, v = 0;
      for (const auto& row : x) m += row[f] / T(x.size());
      for (const auto& row : x) v += (row[f] - m) * (row[f] - m) / T(x.size());
      mean.push_back(m);
      variance.push_back(v);
      sigma.push_back(std::sqrt(v + T(kBatchNormEpsilon)));
      const bool warm = p[layer.passes] >= 100'000;
      const T running = running_sigma(layer, p, f);
      r.push_back(warm ? std::clamp(sigma[f] / running, T(1) / 3, T(3)) : T(1));
      d.push_back(warm ? std::clamp((m - p[layer.mean + f]) / running, T(-5), T(5)) : T(0));
    }
  }
  T n(int f, T x) const { return (x - mean[f]) / sigma[f]; }
};

template <class T>
struct TrainingTrace {
  Table<T> features;                              // [rows][features] as in Structure
  std::map<std::size_t, BatchNormPass<T>> norms;  // by layer

  std::vector<T> outputs(const Structure& net, std::size_t row) const {
    const auto first = features[row].begin() + net.outputs_at;
    return {first, first + net.outputs};
  }
};

template <class T>
Table<T> inputs_of_layer(const Structure& net, std::size_t l, const Table<T>& features) {
  Table<T> x;
  for (const auto& row : features) x.push_back(input_of(net, l, row));
  return x;
}

// `constants` has the r and d to use instead of those of this batch.
template <class T>
TrainingTrace<T> forward_training(const Structure& net, std::span<const T> p, const Table<T>& x,
                                  const TrainingPass& pass,
                                  const TrainingTrace<T>* constants = nullptr) {
  TrainingTrace<T> trace{x, {}};
  for (auto& row : trace.features) row.resize(net.features);
  for (std::size_t l = 0; l < net.layers.size(); ++l) {
    const Table<T> in = inputs_of_layer(net, l, trace.features);
    const auto* norm = std::get_if<BatchNormLayer>(&net.layers[l]);
    const auto* dropout = std::get_if<DropoutLayer>(&net.layers[l]);
    if (norm != nullptr) {
      BatchNormPass<T> now(*norm, p, in);
      if (constants != nullptr) {
        now.r = constants->norms.at(l).r;
        now.d = constants->norms.at(l).d;
      }
      trace.norms.emplace(l, now);
    }
    for (std::size_t row = 0; row < x.size(); ++row) {
      std::vector<T> y;
      if (norm != nullptr) {
        const BatchNormPass<T>& now = trace.norms.at(l);
        for (int f = 0; f < norm->width; ++f) {
          y.push_back(p[norm->scale + f] * (now.r[f] * now.n(f, in[row][f]) + now.d[f]) +
                      p[norm->shift + f]);
        }
      } else if (dropout != nullptr) {
        y = dropout_factors<T>(*dropout, pass, static_cast<int>(l), static_cast<int>(row));
        for (int f = 0; f < dropout->width; ++f) y[f] *= in[row][f];
      } else {
        std::visit(
            [&](const auto& kind) {
              for (const T z : preactivation<T>(kind, p, in[row]))
                y.push_back(activate(activation_of(kind), z));
            },
            net.layers[l]);
      }
      std::copy(y.begin(), y.end(), trace.features[row].begin() + net.places[l].to);
    }
  }
  return trace;
}

// Row by row: dn_j / dx_i = ([i = j] - (1 + n_i n_j) / N) / sigma.
template <class T>
Table<T> backward_batch_norm(const BatchNormLayer& layer, std::span<const T> p,
                             const BatchNormPass<T>& pass, const Table<T>& x, const Table<T>& dy,
                             std::span<T> gradient) {
  const std::size_t rows = x.size();
  Table<T> dx(rows, std::vector<T>(layer.width, T(0)));
  for (int f = 0; f < layer.width; ++f) {
    for (std::size_t j = 0; j < rows; ++j) {
      const T n_j = pass.n(f, x[j][f]);
      gradient[layer.scale + f] += dy[j][f] * (pass.r[f] * n_j + pass.d[f]);
      gradient[layer.shift + f] += dy[j][f];
      for (std::size_t i = 0; i < rows; ++i) {
        const T slope = (T(i == j) - (1 + pass.n(f, x[i][f]) * n_j) / T(rows)) / pass.sigma[f];
        dx[i][f] += dy[j][f] * p[layer.scale + f] * pass.r[f] * slope;
      }
    }
  }
  return dx;
}

// Adds the gradient of the batch, given dL/dy [rows][outputs], and returns dL/dx.
template <class T>
Table<T> backward_training(const Structure& net, std::span<const T> p,
                           const TrainingTrace<T>& trace, const Table<T>& dy,
                           const TrainingPass& pass, std::span<T> gradient) {
  const std::size_t rows = dy.size();
  Table<T> deltas(rows, std::vector<T>(net.features, T(0)));
  for (std::size_t row = 0; row < rows; ++row)
    std::copy(dy[row].begin(), dy[row].end(), deltas[row].begin() + net.outputs_at);
  for (std::size_t l = net.layers.size(); l-- > 0;) {
    const Table<T> in = inputs_of_layer(net, l, trace.features);
    Table<T> d, dx;
    for (const auto& row : deltas) {
      const auto first = row.begin() + net.places[l].to;
      d.emplace_back(first, first + outputs_of(net.layers[l]));
    }
    if (const auto* norm = std::get_if<BatchNormLayer>(&net.layers[l])) {
      dx = backward_batch_norm(*norm, p, trace.norms.at(l), in, d, gradient);
    } else {
      for (std::size_t row = 0; row < rows; ++row) {
        if (const auto* dropout = std::get_if<DropoutLayer>(&net.layers[l])) {
          dx.push_back(
              dropout_factors<T>(*dropout, pass, static_cast<int>(l), static_cast<int>(row)));
          for (int f = 0; f < dropout->width; ++f) dx[row][f] *= d[row][f];
          continue;
        }
        std::visit(
            [&](const auto& kind) {
              const std::vector<T> z = preactivation<T>(kind, p, in[row]);
              for (std::size_t o = 0; o < z.size(); ++o)
                d[row][o] *= slope(activation_of(kind), z[o]);
              dx.push_back(backward<T>(kind, p, in[row], d[row], gradient));
            },
            net.layers[l]);
      }
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < dx[row].size(); ++i)
        deltas[row][net.places[l].from + i] += dx[row][i];
    }
  }
  for (auto& row : deltas) row.resize(net.inputs);
  return deltas;
}

// After a training pass: running statistics move by 1 % towards those of its rows, and the pass is
// counted.
template <class T>
void update_statistics(const Structure& net, const TrainingTrace<T>& trace, std::span<T> p) {
  for (const auto& [l, pass] : trace.norms) {
    const auto& layer = std::get<BatchNormLayer>(net.layers[l]);
    for (int f = 0; f < layer.width; ++f) {
      T &mean = p[layer.mean + f], &variance = p[layer.variance + f];
      mean = T(0.99) * mean + T(0.01) * pass.mean[f];
      variance = T(0.99) * variance + T(0.01) * pass.variance[f];
    }
    p[layer.passes] += 1;
  }
}

}  // namespace hotloop::reference
