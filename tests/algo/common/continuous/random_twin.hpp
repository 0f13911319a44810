// Random networks and batches for actor-critics with continuous actions. Their numbers are floats,
// so that single and double precision start from the same ones.
#pragma once

#include <hotloop/rng.hpp>

#include <cmath>
#include <vector>

#include "reference/continuous.hpp"

namespace hotloop {

inline std::vector<double> random_doubles(std::size_t size, Rng& rng, double scale = 1) {
  std::vector<double> values(size);
  for (double& v : values) v = static_cast<float>(scale * rng.normal());
  return values;
}

// All parameters are random; the padding is zero. Batch norm has seen so many passes that its warm-up
// is over, or ends after two more.
inline std::vector<double> random_parameters(const Structure& net, Rng& rng, double scale = 1) {
  std::vector<double> p(net.storage, 0.0);
  for (const TensorInfo& tensor : tensors(net)) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c) {
        double& value = p[tensor.offset + r * tensor.stride + c];
        if (tensor.name.ends_with(".variance"))
          value = static_cast<float>(rng.uniform(0.2, 4));
        else if (tensor.name.ends_with(".passes"))
          value = rng.below(2) == 0 ? 99'998 : 100'000;
        else
          value = static_cast<float>(scale * rng.normal() / std::sqrt(tensor.columns));
      }
    }
  }
  return p;
}

// Batch norm that is at the beginning of its warm-up: r = 1 and d = 0, so that finite differences and
// numbers worked by hand need no constants.
inline void forget_passes(const Structure& net, std::vector<double>& p) {
  for (const TensorInfo& tensor : tensors(net)) {
    if (tensor.name.ends_with(".passes")) p[tensor.offset] = 0;
  }
}

// Some masks that differ between passes and critics.
inline reference::Masks some_masks() {
  return [](reference::CriticPass pass, int k) {
    return TrainingPass{
        .seed = 5, .stream = static_cast<std::uint32_t>(3 * k) + static_cast<std::uint32_t>(pass)};
  };
}

// Actions in [-1, 1]; a fifth of the transitions have ended, the others are of one to three steps.
inline reference::ContinuousBatch random_continuous_batch(int size, int obs, int actions, Rng& rng,
                                                          bool weights = true) {
  reference::ContinuousBatch b{.size = size,
                               .obs = random_doubles(size * obs, rng),
                               .next_obs = random_doubles(size * obs, rng),
                               .actions = random_doubles(size * actions, rng, 0.5),
                               .rewards = random_doubles(size, rng),
                               .discounts = {}};
  for (double& a : b.actions) a = std::clamp(a, -1.0, 1.0);
  for (int i = 0; i < size; ++i) {
    const double gamma = std::pow(0.97, 1 + rng.below(3));
    b.discounts.push_back(rng.below(5) == 0 ? 0.0 : static_cast<float>(gamma));
    if (weights) b.weights.push_back(static_cast<float>(rng.uniform(0.1, 1)));
  }
  return b;
}

}  // namespace hotloop
