// The slow twin of src/algo/dqn: one transition at a time, one loss at a time, as most people write
// it first. Tests and benchmarks only.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "algo/dqn.hpp"
#include "reference/network.hpp"
#include "reference/optimiser.hpp"

namespace hotloop::reference {

template <class T>
struct Dqn {
  Structure net;
  DqnOptions options;
  std::vector<T> online, target;
  reference::Optimiser<T> optimiser;

  Dqn(const Structure& structure, const DqnOptions& dqn, const OptimiserOptions& o,
      std::span<const float> parameters)
      : net(structure),
        options(dqn),
        online(parameters.begin(), parameters.end()),
        target(online),
        optimiser(o, structure.storage) {}

  // Mean loss and its gradient over the batch.
  T gradient(const Batch& batch, std::vector<T>& gradient) const {
    gradient.assign(net.storage, T(0));
    T loss = 0;
    for (int i = 0; i < batch.size; ++i) {
      const std::vector<T> s(batch.obs + i * net.inputs, batch.obs + (i + 1) * net.inputs);
      const std::vector<T> next(batch.next_obs + i * net.inputs,
                                batch.next_obs + (i + 1) * net.inputs);
      T y = batch.rewards[i];
      if (batch.discounts[i] != 0) {
        const std::vector<T> q = forward<T>(net, target, next).y.back();
        T best = -INFINITY;
        for (int a = 0; a < net.outputs; ++a) {
          if (batch.next_mask == nullptr || batch.next_mask[i * net.outputs + a] != 0)
            best = std::max(best, q[a]);
        }
        y += T(batch.discounts[i]) * best;
      }
      const Trace<T> trace = forward<T>(net, online, s);
      const T error = y - trace.y.back()[batch.actions[i]];
      const bool quadratic = options.loss == Loss::mse || std::abs(error) <= 1;
      if (options.loss == Loss::mse)
        loss += error * error;
      else
        loss += quadratic ? error * error / 2 : std::abs(error) - T(0.5);
      std::vector<T> dy(net.outputs, T(0));
      const T slope = options.loss == Loss::mse ? 2 * error : std::clamp(error, T(-1), T(1));
      dy[batch.actions[i]] = -slope / batch.size;
      backward<T>(net, online, trace, dy, gradient);
    }
    return loss / batch.size;
  }

  T update(const Batch& batch, T rate) {
    std::vector<T> g;
    const T loss = gradient(batch, g);
    clip<T>(g, optimiser.options.clip_norm);
    optimiser.step(online, g, rate);
    return loss;
  }
};

}  // namespace hotloop::reference
