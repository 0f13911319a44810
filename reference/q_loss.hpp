// The slow twin of src/algo/common/q/loss and head: one transition at a time, the formulas as in
// the papers. Tests and benchmarks only.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "algo/common/q/loss.hpp"

namespace hotloop::reference {

template <class T>
std::vector<T> softmax(const std::vector<T>& x) {
  const T top = *std::max_element(x.begin(), x.end());
  std::vector<T> p;
  T sum = 0;
  for (T v : x) sum += p.emplace_back(std::exp(v - top));
  for (T& v : p) v /= sum;
  return p;
}

template <class T>
std::vector<T> atoms_of(const QHead& head, const std::vector<T>& outputs, int action) {
  return {outputs.begin() + action * head.atoms, outputs.begin() + (action + 1) * head.atoms};
}

template <class T>
T support(const QHead& head, int k) {
  return T(head.v_min) + k * (T(head.v_max) - T(head.v_min)) / (head.atoms - 1);
}

// Q(s, a) of one action.
template <class T>
T action_value(const QHead& head, const std::vector<T>& outputs, int action) {
  std::vector<T> atoms = atoms_of(head, outputs, action);
  T value = 0;
  if (head.kind == HeadKind::c51) {
    atoms = softmax(atoms);
    for (int k = 0; k < head.atoms; ++k) value += atoms[k] * support<T>(head, k);
    return value;
  }
  for (T atom : atoms) value += atom;
  return value / head.atoms;
}

template <class T>
int greedy_action(const QHead& head, const std::vector<T>& outputs, const std::uint8_t* mask) {
  int best = -1;
  for (int a = 0; a < head.actions; ++a) {
    if (mask != nullptr && mask[a] == 0) continue;
    if (best < 0 || action_value(head, outputs, a) > action_value(head, outputs, best)) best = a;
  }
  return best;
}

// m_i = sum_j p_j max(0, 1 - |clamp(r + d z_j) - z_i| / spacing)
template <class T>
std::vector<T> project(const QHead& head, const std::vector<T>& p, T reward, T discount) {
  std::vector<T> m(head.atoms, T(0));
  const T spacing = support<T>(head, 1) - support<T>(head, 0);
  for (int i = 0; i < head.atoms; ++i) {
    for (int j = 0; j < head.atoms; ++j) {
      const T z = std::clamp(reward + discount * support<T>(head, j), T(head.v_min), T(head.v_max));
      m[i] += p[j] * std::max(T(0), 1 - std::abs(z - support<T>(head, i)) / spacing);
    }
  }
  return m;
}

template <class T>
T huber(T u) {
  return std::abs(u) <= 1 ? u * u / 2 : std::abs(u) - T(0.5);
}

template <class T>
struct RowLoss {
  T loss = 0;               // before weighting
  T error = 0;              // for priorities
  std::vector<T> gradient;  // dloss/doutputs, [actions * atoms]
};

template <class T>
RowLoss<T> row_loss(const QHead& head, Loss loss, const std::vector<T>& outputs, int action,
                    const std::vector<T>& next_outputs, int next_action, T reward, T discount) {
  RowLoss<T> row{.gradient = std::vector<T>(head.outputs(), T(0))};
  T* gradient = row.gradient.data() + action * head.atoms;
  const std::vector<T> predicted = atoms_of(head, outputs, action);
  const std::vector<T> next = atoms_of(head, next_outputs, next_action);
  if (head.kind == HeadKind::scalar) {
    const T u = reward + (discount != 0 ? discount * next[0] : T(0)) - predicted[0];
    row.loss = loss == Loss::mse ? u * u : huber(u);
    row.error = std::abs(u);
    gradient[0] = -(loss == Loss::mse ? 2 * u : std::clamp(u, T(-1), T(1)));
  } else if (head.kind == HeadKind::c51) {
    const std::vector<T> m = project(head, softmax(next), reward, discount);
    const std::vector<T> p = softmax(predicted);
    for (int k = 0; k < head.atoms; ++k) {
      if (m[k] > 0) row.loss += m[k] * std::log(m[k] / p[k]);
      gradient[k] = p[k] - m[k];
    }
    row.error = std::max(row.loss, T(0));
  } else {
    for (int i = 0; i < head.atoms; ++i) {
      const T tau = (i + T(0.5)) / head.atoms;
      for (int j = 0; j < head.atoms; ++j) {
        const T u = reward + (discount != 0 ? discount * next[j] : T(0)) - predicted[i];
        const T asymmetry = std::abs(tau - (u < 0 ? 1 : 0));
        row.loss += asymmetry * huber(u) / head.atoms;
        gradient[i] -= asymmetry * std::clamp(u, T(-1), T(1)) / head.atoms;
      }
    }
    row.error = row.loss;
  }
  return row;
}

}  // namespace hotloop::reference
