// Running statistics that normalise observations and rewards.
//
//   observation  x <- clamp((x - mean) / std, -10, 10), feature by feature
//   reward       r <- r / std of the discounted return so far, sum_k gamma^k r_{t-k}
//
// Mean and squared deviations are merged one vector step at a time (Chan et al. 1979), in double
// and in row order, so they depend only on the data. They are part of the model: training updates
// them, evaluation only reads them.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "core/limits.hpp"
#include "net/network.hpp"

namespace hotloop {

class ObsNormaliser {
 public:
  explicit ObsNormaliser(int features);

  void add(std::span<const float> rows);  // [N, features]
  const InputScale* scale() const { return &scale_; }
  std::span<const float> mean() const { return mean_; }
  std::span<const float> factor() const { return factor_; }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("count", count_, Limits::count());
    v("mean", exact_mean_, Limits::finite());
    v("squares", squares_, Limits::at_least(0));
    v("factor", factor_, Limits::at_least(0));
    v("float_mean", mean_, Limits::finite());
  }

 private:
  Arena arena_;
  std::span<double> count_;         // [1] rows seen
  std::span<double> exact_mean_;    // [features]
  std::span<double> squares_;       // [features] sum of squared deviations
  std::span<float> mean_, factor_;  // [features] as the network uses them
  InputScale scale_;
};

class RewardNormaliser {
 public:
  RewardNormaliser(int envs, double gamma);

  void add(std::span<const float> rewards, std::span<const std::uint8_t> terminated,
           std::span<const std::uint8_t> truncated);
  float factor() const { return static_cast<float>(statistics_[3]); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("statistics", statistics_, Limits::finite());  // restored() knows what each may be
    v("returns", returns_, Limits::finite());
  }
  void restored() const;  // throws RunError if a statistic cannot be

 private:
  double gamma_;
  Arena arena_;
  std::span<double> statistics_;  // count, mean, squares, factor
  std::span<double> returns_;     // [N] discounted returns of the current episodes
};

}  // namespace hotloop
