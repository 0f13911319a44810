// The policy of a learner that explores, written like its definition: the probability of each
// action. The slow twin of expected_q. Tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "algo/common/q/exploration.hpp"

namespace hotloop::reference {

// Epsilon-greedy: epsilon is shared by all allowed actions, the rest goes to the first of the best.
// Boltzmann: p(a) = exp(Q(a) / temperature) / sum over the allowed actions. `mask` null = all.
inline std::vector<double> action_probabilities(const std::vector<double>& q,
                                                const std::uint8_t* mask, const Exploration& e) {
  const auto allows = [&](std::size_t a) { return mask == nullptr || mask[a] != 0; };
  std::size_t best = q.size();
  double allowed = 0, total = 0;
  for (std::size_t a = 0; a < q.size(); ++a) {
    if (!allows(a)) continue;
    if (best == q.size() || q[a] > q[best]) best = a;
    ++allowed;
    total += std::exp(q[a] / e.temperature);
  }
  std::vector<double> p(q.size(), 0.0);
  for (std::size_t a = 0; a < q.size(); ++a) {
    if (!allows(a)) continue;
    p[a] = e.kind == Explore::boltzmann ? std::exp(q[a] / e.temperature) / total
                                        : e.epsilon / allowed + (a == best ? 1 - e.epsilon : 0);
  }
  return p;
}

inline double expected_q(const std::vector<double>& q, const std::uint8_t* mask,
                         const Exploration& e) {
  const std::vector<double> p = action_probabilities(q, mask, e);
  double sum = 0;
  for (std::size_t a = 0; a < q.size(); ++a) sum += p[a] * q[a];
  return sum;
}

}  // namespace hotloop::reference
