// The slow twin of src/algo/dqn: one transition at a time, one loss at a time, as most people write
// it first. Tests and benchmarks only.
#pragma once

#include <vector>

#include "algo/dqn.hpp"
#include "reference/network.hpp"
#include "reference/optimiser.hpp"
#include "reference/q_loss.hpp"

namespace hotloop::reference {

template <class T>
struct Dqn {
  Structure net;
  QOptions options;
  QHead head;
  std::vector<T> online, target;
  reference::Optimiser<T> optimiser;

  Dqn(const Structure& structure, const QOptions& q, const OptimiserOptions& o,
      std::span<const float> parameters)
      : net(structure),
        options(q),
        head(make_head(q, structure.outputs / make_head(q, 1).atoms)),
        online(parameters.begin(), parameters.end()),
        target(online),
        optimiser(o, structure.storage) {}

  // Mean weighted loss over the batch and its gradient; `errors` are for the priorities.
  T gradient(const Batch& batch, std::vector<T>& gradient, std::vector<T>* errors = nullptr) const {
    gradient.assign(net.storage, T(0));
    T loss = 0;
    for (int i = 0; i < batch.size; ++i) {
      const std::vector<T> s(batch.obs + i * net.inputs, batch.obs + (i + 1) * net.inputs);
      const std::vector<T> next(batch.next_obs + i * net.inputs,
                                batch.next_obs + (i + 1) * net.inputs);
      const std::vector<T>& valuer = options.target_every > 0 ? target : online;
      const std::vector<T> next_outputs = forward<T>(net, valuer, next).y.back();
      const std::uint8_t* mask =
          batch.next_mask == nullptr ? nullptr : batch.next_mask + i * head.actions;
      const int next_action = greedy_action(
          head, options.double_q ? forward<T>(net, online, next).y.back() : next_outputs, mask);
      const Trace<T> trace = forward<T>(net, online, s);
      const RowLoss<T> row =
          row_loss<T>(head, options.loss, trace.y.back(), batch.actions[i], next_outputs,
                      next_action, batch.rewards[i], batch.discounts[i]);
      const T weight = batch.weights == nullptr ? T(1) : T(batch.weights[i]);
      loss += weight * row.loss / batch.size;
      if (errors != nullptr) errors->push_back(row.error);
      std::vector<T> dy = row.gradient;
      for (T& d : dy) d *= weight / batch.size;
      backward<T>(net, online, trace, dy, gradient);
    }
    return loss;
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
