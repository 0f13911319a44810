// What the slow twins of the actor-critics with continuous actions share: one row, one network and
// one number at a time, in double. Nothing is from src/algo. Tests and benchmarks only.
//
// There are B rows and K critics; observations have D numbers and actions A, each in [-1, 1]. A
// critic reads [s | a] and has one output, or M quantiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "net/structure.hpp"
#include "reference/network.hpp"
#include "reference/optimiser.hpp"

namespace hotloop::reference {

using Doubles = std::vector<double>;

struct ContinuousBatch {
  int size = 0;           // B
  Doubles obs, next_obs;  // [B, D]
  Doubles actions;        // [B, A], in [-1, 1]
  Doubles rewards;        // [B], summed over n steps
  Doubles discounts;      // [B], gamma^n, 0 after termination
  Doubles weights = {};   // [B], importance weights; empty: 1
  double weight(int b) const { return weights.empty() ? 1 : weights[b]; }
};

inline Doubles row_of(const Doubles& all, int row, std::size_t size) {
  return {all.begin() + row * size, all.begin() + (row + 1) * size};
}

inline Doubles joined(Doubles first, const Doubles& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A network with its parameters, and its own optimiser.
struct Learnt {
  Structure net;
  Doubles p;
  Optimiser<double> optimiser;

  Learnt(const Structure& structure, const Doubles& parameters, const OptimiserOptions& options)
      : net(structure), p(parameters), optimiser(options, parameters.size()) {}

  Doubles outputs(const Doubles& x) const { return outputs_with(p, x); }
  // The same network with other parameters: those of a target.
  Doubles outputs_with(const Doubles& parameters, const Doubles& x) const {
    const Trace<double> trace = forward<double>(net, parameters, x);
    const auto first = trace.features.begin() + net.outputs_at;
    return {first, first + net.outputs};
  }
  // Adds to the gradient and returns dL/dx, given dL/dy.
  Doubles backward(const Doubles& x, const Doubles& dy, Doubles& gradient) const {
    return reference::backward<double>(net, p, forward<double>(net, p, x), dy, gradient);
  }
  void step(Doubles gradient, double rate) {
    clip<double>(gradient, optimiser.options.max_grad_norm);
    optimiser.step(p, gradient, rate);
  }
};

inline void blend(Doubles& target, const Doubles& online, double tau) {
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += tau * (online[i] - target[i]);
}

// One dimension of a squashed Gaussian: u = m + e^l eps, a = tanh(u), l clamped to [-20, 2].
//   log p(a) = -eps^2 / 2 - l - log(2 pi) / 2 - log(1 - tanh(u)^2)
//   log(1 - tanh(u)^2) = 2 (log 2 - u - log(1 + e^-2u))
struct Squashed {
  static constexpr double kMinLogStd = -20, kMaxLogStd = 2;
  double m, l, eps, u, a;
  bool is_clamped;

  Squashed(double mean, double log_std, double noise)
      : m(mean),
        l(std::clamp(log_std, kMinLogStd, kMaxLogStd)),
        eps(noise),
        u(m + std::exp(l) * eps),
        a(std::tanh(u)),
        is_clamped(l != log_std) {}

  double log_slope() const { return 2 * (std::numbers::ln2 - u - softplus(-2 * u)); }
  double slope() const { return std::exp(log_slope()); }  // da/du
  double log_probability() const {
    return -eps * eps / 2 - l - std::log(2 * std::numbers::pi) / 2 - log_slope();
  }
  // With eps fixed, from dL/da and dL/d log p. log p depends on m only through -log_slope(u), whose
  // derivative is 2 tanh(u), and on l also through -l.
  double d_mean(double d_action, double d_log_p) const {
    return d_action * slope() + d_log_p * 2 * a;
  }
  double d_log_std(double d_action, double d_log_p) const {
    if (is_clamped) return 0;
    return d_mean(d_action, d_log_p) * std::exp(l) * eps - d_log_p;
  }

 private:
  static double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
};

// All dimensions: a network's outputs [m | l], [2 A].
inline std::vector<Squashed> squashed(const Doubles& outputs, const Doubles& eps) {
  std::vector<Squashed> result;
  for (std::size_t i = 0; i < eps.size(); ++i)
    result.emplace_back(outputs[i], outputs[eps.size() + i], eps[i]);
  return result;
}
inline Doubles actions_of(const std::vector<Squashed>& dimensions) {
  Doubles actions;
  for (const Squashed& x : dimensions) actions.push_back(x.a);
  return actions;
}
inline double log_probability(const std::vector<Squashed>& dimensions) {
  double sum = 0;
  for (const Squashed& x : dimensions) sum += x.log_probability();
  return sum;
}

// A loss of one critic in one row, and its gradient with respect to the critic's outputs.
struct CriticRow {
  double loss;
  Doubles gradient;
};

// (q - y)^2 / 2.
inline CriticRow squared_row(double q, double y) { return {(q - y) * (q - y) / 2, {q - y}}; }

// Quantile regression: the mean over i and j of |tau_i - [u < 0]| huber(u), where
// u = y_j - theta_i and tau_i = (i + 1/2) / M.
inline CriticRow quantile_row(const Doubles& theta, const Doubles& y) {
  const double pairs = static_cast<double>(theta.size() * y.size());
  CriticRow row{0, Doubles(theta.size(), 0.0)};
  for (std::size_t i = 0; i < theta.size(); ++i) {
    const double tau = (static_cast<double>(i) + 0.5) / static_cast<double>(theta.size());
    for (double target : y) {
      const double u = target - theta[i];
      const double side = std::abs(tau - (u < 0 ? 1 : 0));
      row.loss += side * (std::abs(u) <= 1 ? u * u / 2 : std::abs(u) - 0.5) / pairs;
      row.gradient[i] -= side * std::clamp(u, -1.0, 1.0) / pairs;
    }
  }
  return row;
}

// TQC: the quantiles of all critics, sorted, without the `dropped` largest.
inline Doubles truncated(Doubles pooled, int dropped) {
  std::sort(pooled.begin(), pooled.end());
  pooled.resize(pooled.size() - dropped);
  return pooled;
}

// The mean over the rows of the weighted loss of one critic. `y` has the same number of targets for
// each row. Adds to the gradient.
inline double critic_loss(const Learnt& critic, bool quantiles, const ContinuousBatch& batch,
                          const Doubles& y, Doubles& gradient) {
  const std::size_t inputs = batch.obs.size() / batch.size;
  const std::size_t actions = batch.actions.size() / batch.size;
  double loss = 0;
  for (int b = 0; b < batch.size; ++b) {
    const Doubles x = joined(row_of(batch.obs, b, inputs), row_of(batch.actions, b, actions));
    const Doubles q = critic.outputs(x), targets = row_of(y, b, y.size() / batch.size);
    CriticRow row = quantiles ? quantile_row(q, targets) : squared_row(q[0], targets[0]);
    const double share = batch.weight(b) / batch.size;
    loss += share * row.loss;
    for (double& d : row.gradient) d *= share;
    critic.backward(x, row.gradient, gradient);
  }
  return loss;
}

}  // namespace hotloop::reference
