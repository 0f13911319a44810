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

// All parameters are random; the padding is zero.
inline std::vector<double> random_parameters(const Structure& net, Rng& rng, double scale = 1) {
  std::vector<double> p(net.storage, 0.0);
  for (const TensorInfo& tensor : tensors(net)) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c)
        p[tensor.offset + r * tensor.stride + c] =
            static_cast<float>(scale * rng.normal() / std::sqrt(tensor.columns));
    }
  }
  return p;
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
