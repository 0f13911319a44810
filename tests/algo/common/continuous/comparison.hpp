// Fast actor-critics beside their slow twins: the same parameters, batches and noise.
//
// Tolerances: the fast code rounds to single precision, so gradients, which are sums over up to 256
// rows, have errors of about 1e-6 of their size. One step of Adam is rate g / (|g| + epsilon). With
// the usual epsilon of 1e-8, a gradient that is zero but for rounding moves its parameter by the
// whole rate, in either direction, and the first step hardly depends on the size of g. So the
// comparisons use epsilon = 0.05: a step then shows the size of g, and its error is at most rate /
// epsilon times that of g. Parameters agree to 1e-6, relative to 1 + |p|. Batch renormalisation
// divides by the std of a batch, and so magnifies rounding: with 32 rows, parameters of CrossQ agree
// to 4e-6.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "algo/common/continuous/critics.hpp"
#include "net/kernels/normals.hpp"
#include "tests/algo/common/continuous/random_twin.hpp"

namespace hotloop::comparison {

using reference::Doubles;

inline constexpr int kObs = 4;
inline constexpr double kRate = 0.05;

struct Shape {
  int rows, actions, critics, quantiles;
  int number = 0;  // of the case: it decides about the other settings
  std::string name() const {
    return std::to_string(rows) + " rows, " + std::to_string(actions) + " actions, " +
           std::to_string(critics) + " critics, " + std::to_string(quantiles) + " quantiles";
  }
};

// All batches with all numbers of critics and quantiles; actions in turn.
inline std::vector<Shape> shapes(const std::vector<int>& all_quantiles,
                                 const std::vector<int>& all_rows = {1, 7, 33, 100, 256}) {
  constexpr int kActions[] = {1, 2, 6, 17};
  std::vector<Shape> all;
  for (const int quantiles : all_quantiles) {
    for (const int critics : {1, 2, 5}) {
      for (const int rows : all_rows) {
        const int number = static_cast<int>(all.size());
        all.push_back({rows, kActions[(number + number / 4) % 4], critics, quantiles, number});
      }
    }
  }
  return all;
}

// Smooth or not, wide or not, by the number of the case.
inline NetOptions net_options(const Shape& shape) {
  return {.hidden = {13, 8},
          .activation = shape.number % 2 == 0 ? Activation::relu : Activation::gelu,
          .layer_norm = shape.number % 5 == 4};
}
// The networks as algo.crossq and algo.critic_dropout want them.
inline NetOptions actor_options(const Shape& shape, const CriticOptions& critics) {
  NetOptions o = net_options(shape);
  o.batch_norm = critics.crossq;
  o.layer_norm = o.layer_norm && !critics.crossq;
  return o;
}
inline NetOptions critic_options(const Shape& shape, const CriticOptions& critics) {
  NetOptions o = actor_options(shape, critics);
  o.dropout = critics.dropout;
  o.layer_norm = o.layer_norm || critics.layer_norm;
  return o;
}
inline OptimiserOptions optimiser_options(const Shape& shape) {
  return {.epsilon = 0.05f, .max_grad_norm = shape.number % 3 == 2 ? 0.5f : 0.0f};
}

// A batch in single precision.
struct FloatBatch {
  int size;
  std::vector<float> obs, next_obs, actions, rewards, discounts, weights;

  explicit FloatBatch(const reference::ContinuousBatch& b)
      : size(b.size),
        obs(b.obs.begin(), b.obs.end()),
        next_obs(b.next_obs.begin(), b.next_obs.end()),
        actions(b.actions.begin(), b.actions.end()),
        rewards(b.rewards.begin(), b.rewards.end()),
        discounts(b.discounts.begin(), b.discounts.end()),
        weights(b.weights.begin(), b.weights.end()) {}
  Batch view() const {
    return {.size = size,
            .obs = obs.data(),
            .next_obs = next_obs.data(),
            .rewards = rewards.data(),
            .discounts = discounts.data(),
            .weights = weights.empty() ? nullptr : weights.data(),
            .continuous_actions = actions.data()};
  }
};

// The noise [B, A] that the fast code draws: one stream for each block of rows, [A][kLanes].
// `lane_of` maps a block to the lane of its stream.
template <class LaneOf>
Doubles noise(int rows, int actions, std::uint64_t seed, std::uint64_t index, LaneOf&& lane_of) {
  Doubles all;
  std::vector<float> lanes(static_cast<std::size_t>(actions) * kLanes);
  for (int row = 0; row < rows; ++row) {
    if (row % kLanes == 0) {
      Rng rng(seed, Purpose::policy, static_cast<std::uint32_t>(lane_of(row / kLanes)), index);
      draw_normals(rng, lanes);
    }
    for (int i = 0; i < actions; ++i) all.push_back(lanes[i * kLanes + row % kLanes]);
  }
  return all;
}

// The masks that the fast code draws: each pass of each critic has its own stream.
inline reference::Masks masks(const CriticOptions& critics, std::uint64_t seed,
                              std::uint64_t index) {
  if (critics.dropout == 0) return {};
  return [=](reference::CriticPass pass, int k) {
    const int number = pass == reference::CriticPass::target   ? 0
                       : pass == reference::CriticPass::online ? 1
                                                               : 2;
    return TrainingPass{
        .seed = seed, .step = index, .stream = static_cast<std::uint32_t>(3 * k + number)};
  };
}

inline void put(const Doubles& from, std::span<float> to) {
  ASSERT_EQ(from.size(), to.size());
  std::copy(from.begin(), from.end(), to.begin());
}

// `worst` receives the largest error relative to 1 + |expected|.
inline void expect_equal(std::span<const float> fast, const Doubles& twin, double tolerance,
                         const std::string& what, double& worst) {
  ASSERT_EQ(fast.size(), twin.size()) << what;
  double largest = 0;
  for (std::size_t i = 0; i < twin.size(); ++i) {
    const double error = std::abs(fast[i] - twin[i]) / (1 + std::abs(twin[i]));
    largest = std::max(largest, std::isfinite(error) ? error : 1e300);
  }
  EXPECT_LE(largest, tolerance) << what;
  worst = std::max(worst, largest);
}

}  // namespace hotloop::comparison
