// Policies, one sample at a time, in double: the slow twin of src/algo/common/policy.
#pragma once

#include <hotloop/rng.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "algo/common/policy.hpp"

namespace hotloop::reference {

struct Policy {
  const PolicyHead& head;
  std::vector<double> outputs;             // of the network
  std::vector<std::uint8_t> allowed = {};  // empty = all

  bool is_allowed(int a) const { return allowed.empty() || allowed[a] != 0; }
  double probability(int a) const {
    double sum = 0;
    for (int b = 0; b < head.actions; ++b) sum += is_allowed(b) ? std::exp(outputs[b]) : 0;
    return is_allowed(a) ? std::exp(outputs[a]) / sum : 0;
  }
  double mean(int i) const {
    const double bound = head.squash == Squash::smooth ? kMeanBound : 1e300;
    return std::clamp(outputs[i], -bound, bound);
  }
  double std_of(int i) const {
    return std::exp(std::clamp<double>(outputs[head.actions + i], kMinLogStd, kMaxLogStd));
  }

  double log_probability(const std::vector<double>& raw) const {
    if (!head.is_continuous()) return std::log(probability(static_cast<int>(raw[0])));
    double sum = 0;
    for (int i = 0; i < head.actions; ++i) {
      const double s = std_of(i), z = (raw[i] - mean(i)) / s;
      sum -= z * z / 2 + std::log(s * std::sqrt(2 * std::numbers::pi));
    }
    return sum;
  }
  std::vector<double> sample(Rng& rng) const {
    std::vector<double> raw;
    if (!head.is_continuous()) {
      double left = rng.uniform();
      int a = 0;
      while (a < head.actions - 1 && (left -= probability(a)) >= 0) ++a;
      return {static_cast<double>(a)};
    }
    for (int i = 0; i < head.actions; ++i) raw.push_back(mean(i) + std_of(i) * rng.normal());
    return raw;
  }
  // By definition for discrete actions, by the formula per dimension for continuous ones.
  double entropy() const {
    double sum = 0;
    for (int i = 0; i < head.actions; ++i) {
      if (head.is_continuous()) {
        sum += 0.5 * std::log(2 * std::numbers::pi * std::numbers::e * std_of(i) * std_of(i));
      } else if (const double p = probability(i); p > 0) {
        sum -= p * std::log(p);
      }
    }
    return sum;
  }
};

// A mean over samples and its standard error.
struct Estimate {
  double mean, error;
};
template <class Value>
Estimate sampled(const Policy& policy, int count, Rng& rng, Value&& value) {
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    const double x = value(policy.sample(rng));
    sum += x;
    squares += x * x;
  }
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}
inline Estimate sampled_entropy(const Policy& policy, int count, Rng& rng) {
  return sampled(policy, count, rng, [&](const auto& raw) { return -policy.log_probability(raw); });
}
inline Estimate sampled_divergence(const Policy& old, const Policy& now, int count, Rng& rng) {
  return sampled(old, count, rng, [&](const auto& raw) {
    return old.log_probability(raw) - now.log_probability(raw);
  });
}

}  // namespace hotloop::reference
