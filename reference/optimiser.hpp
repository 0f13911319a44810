// The slow twin of src/net/optimiser: the formulas, one parameter at a time, with clipping as a
// separate pass. Tests and benchmarks only.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "net/options.hpp"

namespace hotloop::reference {

template <class T>
void clip(std::span<T> gradient, T clip_norm) {
  T squares = 0;
  for (T g : gradient) squares += g * g;
  const T norm = std::sqrt(squares);
  if (clip_norm <= 0 || norm <= clip_norm) return;
  for (T& g : gradient) g *= clip_norm / norm;
}

template <class T>
struct Optimiser {
  OptimiserOptions options;
  std::vector<T> m, v;
  int t = 0;

  Optimiser(const OptimiserOptions& o, std::size_t size)
      : options(o), m(size, T(0)), v(size, T(0)) {}

  void step(std::span<T> p, std::span<const T> gradient, T rate) {
    ++t;
    for (std::size_t i = 0; i < p.size(); ++i) {
      T g = gradient[i];
      if (options.kind == OptimiserKind::adamw)
        p[i] -= rate * options.weight_decay * p[i];
      else
        g += options.weight_decay * p[i];
      switch (options.kind) {
        case OptimiserKind::adam:
        case OptimiserKind::adamw: {
          m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
          v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
          const T m_hat = m[i] / (1 - std::pow(T(options.beta1), T(t)));
          const T v_hat = v[i] / (1 - std::pow(T(options.beta2), T(t)));
          p[i] -= rate * m_hat / (std::sqrt(v_hat) + options.epsilon);
          break;
        }
        case OptimiserKind::rmsprop:
          v[i] = options.decay * v[i] + (1 - options.decay) * g * g;
          m[i] = options.momentum * m[i] + g / (std::sqrt(v[i]) + options.epsilon);
          p[i] -= rate * m[i];
          break;
        case OptimiserKind::sgd:
          m[i] = options.momentum * m[i] + g;
          p[i] -= rate * m[i];
          break;
      }
    }
  }
};

}  // namespace hotloop::reference
