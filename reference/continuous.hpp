// What the slow twins of the actor-critics with continuous actions share: one row, one network and
// one number at a time, in double. Nothing is from src/algo. Tests and benchmarks only.
//
// There are B rows and K critics; observations have D numbers and actions A, each in [-1, 1]. A
// critic reads [s | a] and has one output, or M quantiles.
//
// Networks evaluate, row by row, with two exceptions:
//   DroQ (Hiraoka et al. 2022)    The critics have dropout. Each pass of a critic in an update drops
//                                 features: for Q'(s', a'), for Q(s, a) and for the actor.
//   CrossQ (Bhatt et al. 2024)    All networks have batch renormalisation, and there are no target
//                                 networks. Two passes use the statistics of their rows, and move
//                                 the running ones: that of a critic over the 2 B rows (s, a) and
//                                 (s', a'), and that of the actor over s when it learns. The
//                                 gradient flows through these statistics, so (s', a') is part of
//                                 it, although y is a constant. Next actions and the critics
//                                 under the actor's loss use running statistics.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <vector>

#include "net/structure.hpp"
#include "reference/network.hpp"
#include "reference/optimiser.hpp"
#include "reference/training_network.hpp"

namespace hotloop::reference {

using Doubles = std::vector<double>;
using Rows = Table<double>;  // [rows][numbers]

// A pass in which dropout and batch norm train; otherwise they evaluate.
using Training = std::optional<TrainingPass>;

// The dropout masks of an update are an argument, like all noise: those of critic k in each pass.
// Empty: nothing is dropped.
enum class CriticPass { target, online, actor };
using Masks = std::function<TrainingPass(CriticPass, int k)>;

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

inline Rows rows_of(const Doubles& all, int rows) {
  Rows table;
  for (int row = 0; row < rows; ++row) table.push_back(row_of(all, row, all.size() / rows));
  return table;
}

// Side by side.
inline Rows joined(const Rows& first, const Rows& second) {
  Rows table;
  for (std::size_t row = 0; row < first.size(); ++row)
    table.push_back(joined(first[row], second[row]));
  return table;
}

// One above the other.
inline Rows stacked(Rows first, const Rows& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// [s | a] of the batch.
inline Rows taken_rows(const ContinuousBatch& batch) {
  return joined(rows_of(batch.obs, batch.size), rows_of(batch.actions, batch.size));
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
  // The same for all rows of a pass.
  Rows outputs(const Rows& x, const Training& training) const {
    return outputs_with(p, x, training);
  }
  Rows outputs_with(const Doubles& parameters, const Rows& x, const Training& training) const {
    Rows y;
    if (training) {
      const auto trace = forward_training<double>(net, parameters, x, *training);
      for (std::size_t row = 0; row < x.size(); ++row) y.push_back(trace.outputs(net, row));
    } else {
      for (const Doubles& row : x) y.push_back(outputs_with(parameters, row));
    }
    return y;
  }
  Rows backward(const Rows& x, const Rows& dy, const Training& training, Doubles& gradient) const {
    if (training) {
      const auto trace = forward_training<double>(net, p, x, *training);
      return backward_training<double>(net, p, trace, dy, *training, gradient);
    }
    Rows dx;
    for (std::size_t row = 0; row < x.size(); ++row)
      dx.push_back(backward(x[row], dy[row], gradient));
    return dx;
  }
  // One step of the optimiser; then the running statistics move, by the pass over `x` that gave the
  // gradient, if it was a training pass.
  void step(Doubles gradient, double rate, const Rows& x = {}, const Training& training = {}) {
    Doubles moved = p;
    if (training) {
      const auto trace = forward_training<double>(net, p, x, *training);
      update_statistics<double>(net, trace, moved);
    }
    clip<double>(gradient, optimiser.options.max_grad_norm);
    const auto trained = static_cast<std::ptrdiff_t>(net.trainable);
    optimiser.step(std::span(p).first(net.trainable), gradient, rate);
    std::copy(moved.begin() + trained, moved.end(), p.begin() + trained);
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

// The mean over the rows of the weighted loss of one critic, from a pass over `x`: the rows [s | a]
// of the batch, and perhaps others that have no loss. `y` has the same number of targets for each
// row of the batch. Adds to the gradient.
inline double critic_loss(const Learnt& critic, bool quantiles, const ContinuousBatch& batch,
                          const Doubles& y, Doubles& gradient, const Rows& x,
                          const Training& training) {
  const Rows q = critic.outputs(x, training);
  Rows dq(x.size(), Doubles(critic.net.outputs, 0.0));
  double loss = 0;
  for (int b = 0; b < batch.size; ++b) {
    const Doubles targets = row_of(y, b, y.size() / batch.size);
    const CriticRow row =
        quantiles ? quantile_row(q[b], targets) : squared_row(q[b][0], targets[0]);
    const double share = batch.weight(b) / batch.size;
    loss += share * row.loss;
    for (std::size_t i = 0; i < row.gradient.size(); ++i) dq[b][i] = share * row.gradient[i];
  }
  critic.backward(x, dq, training, gradient);
  return loss;
}
inline double critic_loss(const Learnt& critic, bool quantiles, const ContinuousBatch& batch,
                          const Doubles& y, Doubles& gradient) {
  return critic_loss(critic, quantiles, batch, y, gradient, taken_rows(batch), {});
}

// How critic k passes the rows of an update, in plain, DroQ and CrossQ mode.
struct CriticPasses {
  bool crossq = false;
  Masks masks = {};

  Training target(int k) const { return dropping(CriticPass::target, k); }  // not in CrossQ
  Training online(int k) const {
    return crossq && !masks ? TrainingPass{} : dropping(CriticPass::online, k);
  }
  // In CrossQ it evaluates, so nothing is dropped.
  Training actor(int k) const { return crossq ? Training{} : dropping(CriticPass::actor, k); }

  // Q'(s', a') [B][outputs] of critic k for the targets, from rows [s' | a'].
  Rows next_values(const Learnt& critic, const Doubles& target_parameters, int k,
                   const ContinuousBatch& batch, const Rows& next) const {
    if (!crossq) return critic.outputs_with(target_parameters, next, target(k));
    const Rows both = critic.outputs(stacked(taken_rows(batch), next), online(k));
    return {both.begin() + batch.size, both.end()};
  }

 private:
  Training dropping(CriticPass pass, int k) const {
    return masks ? Training(masks(pass, k)) : Training{};
  }
};

}  // namespace hotloop::reference
