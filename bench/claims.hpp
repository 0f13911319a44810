// What the authors of the five systems wrote about their speed, each as a contest: a
// straightforward version of their code against the engine's. Both sides do the same work on the
// same inputs, except where the remedy is to do less. The benchmark also measures whether the
// results are equal.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "memory/transitions.hpp"

namespace hotloop::bench {

struct Claim {
  std::string name;
  std::string system;
  std::string claimed;     // by the authors, with the section of the system's specification
  std::string conditions;  // of the measurement here
  std::function<void()> slow, fast;
  std::function<double()> difference;  // the largest difference between the two results
  double tolerance = 0;                // of the difference; 0 = to the bit
  std::string unit = {};               // of the difference, if not that of the result
};

std::vector<Claim> snake_claims();
std::vector<Claim> topology_claims();
std::vector<Claim> slmlab_claims();
std::vector<Claim> durotaxis_claims();  // selection, entropy, GAE, reward record

template <class A, class B>
double largest_difference(const A& a, const B& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double here = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(here)) return INFINITY;
    largest = std::max(largest, here);
  }
  return largest;
}

// An observation has `width` floats.
inline double largest_difference(const Batch& a, const Batch& b, int width) {
  const auto compare = [](const auto* x, const auto* y, int count) {
    const auto n = static_cast<std::size_t>(count);
    return largest_difference(std::span(x, n), std::span(y, n));
  };
  return std::max({compare(a.obs, b.obs, a.size * width),
                   compare(a.next_obs, b.next_obs, a.size * width),
                   compare(a.actions, b.actions, a.size), compare(a.rewards, b.rewards, a.size),
                   compare(a.discounts, b.discounts, a.size)});
}

}  // namespace hotloop::bench
