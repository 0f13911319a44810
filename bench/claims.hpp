// What the owners of the five systems wrote about their speed, each as a contest: the way they had, as
// one writes it first, against the engine's. Both sides do the same work on the same inputs, but for the
// one remedy that is to do less; whether they find the same is measured, too.
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
  std::string claimed;     // by its owners, and where: sections of the system's specification
  std::string conditions;  // of the measurement here
  std::function<void()> slow, fast;
  std::function<double()> difference;  // the largest one between the results of both
  double tolerance = 0;                // of the difference; 0 = to the bit
  std::string unit = {};               // of the difference, where it is not that of the result
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

// `width` floats are in an observation.
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
