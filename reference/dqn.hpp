// The slow twin of src/algo/dqn: one transition at a time, one loss at a time, the way most people
// first write it. Tests and benchmarks only.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algo/dqn/dqn.hpp"
#include "reference/network.hpp"
#include "reference/noise.hpp"
#include "reference/optimiser.hpp"
#include "reference/q_loss.hpp"

namespace hotloop::reference {

template <class T>
struct Dqn {
  Structure net;
  DqnOptions options;
  QHead head;
  std::uint64_t seed;
  std::vector<T> online, target;
  reference::Optimiser<T> optimiser;

  Dqn(const Structure& structure, const AgentSpec& spec, std::span<const float> parameters,
      std::uint64_t noise_seed = 1)
      : net(structure),
        options(options_of<DqnOptions>(spec)),
        head(make_head(options.head, structure.outputs / make_head(options.head, 1).atoms)),
        seed(noise_seed),
        online(parameters.begin(), parameters.end()),
        target(online),
        optimiser(spec.optimiser, structure.storage) {}

  // Mean weighted loss over the batch and its gradient. Noisy layers use the noise of update
  // `index`.
  T gradient(const Batch& batch, std::vector<T>& gradient, std::uint64_t index = 0) const {
    const std::size_t size = noise_size(net);
    const std::vector<T> online_noise = draw_noise<T>(size, seed, 1, index);
    const std::vector<T> chooser = size > 0 ? perturb<T>(net, online, online_noise) : online;
    std::vector<T> valuer = options.target.every > 0 ? target : chooser;
    if (size > 0 && options.target.every > 0) {
      valuer = perturb<T>(net, target, draw_noise<T>(size, seed, 2, index));
    }
    gradient.assign(net.storage, T(0));
    T loss = 0;
    for (int i = 0; i < batch.size; ++i) {
      const std::vector<T> s(batch.obs + i * net.inputs, batch.obs + (i + 1) * net.inputs);
      const std::vector<T> next(batch.next_obs + i * net.inputs,
                                batch.next_obs + (i + 1) * net.inputs);
      const std::vector<T> next_outputs = forward<T>(net, valuer, next).y.back();
      const std::uint8_t* mask =
          batch.next_mask == nullptr ? nullptr : batch.next_mask + i * head.actions;
      const int next_action = greedy_action(
          head, options.double_q ? forward<T>(net, chooser, next).y.back() : next_outputs, mask);
      const Trace<T> trace = forward<T>(net, chooser, s);
      T reward = batch.rewards[i];
      std::vector<T> next_values = next_outputs;
      int chosen = next_action;
      if (options.munchausen.alpha > 0) {
        const std::uint8_t* here = batch.mask == nullptr ? nullptr : batch.mask + i * head.actions;
        reward += bonus(forward<T>(net, valuer, s).y.back(), here, batch.actions[i]);
        next_values = {soft_value(next_outputs, mask)};
        chosen = 0;
      }
      const RowLoss<T> row = row_loss<T>(head, options.loss, trace.y.back(), batch.actions[i],
                                         next_values, chosen, reward, batch.discounts[i]);
      const T weight = batch.weights == nullptr ? T(1) : T(batch.weights[i]);
      loss += weight * row.loss / batch.size;
      std::vector<T> dy = row.gradient;
      for (T& d : dy) d *= weight / batch.size;
      backward<T>(net, chooser, trace, dy, gradient);
    }
    if (size > 0) noise_gradient<T>(net, online_noise, gradient);
    return loss;
  }

  // Munchausen, as the paper writes it: pi = softmax(q / tau) over the allowed actions.
  std::vector<T> soft_policy(const std::vector<T>& q, const std::uint8_t* mask) const {
    std::vector<T> pi(q.size());
    T max_q = -std::numeric_limits<T>::infinity(), sum = 0;
    for (std::size_t b = 0; b < q.size(); ++b) {
      if (mask == nullptr || mask[b] != 0) max_q = std::max(max_q, q[b]);
    }
    for (std::size_t b = 0; b < q.size(); ++b) {
      if (mask == nullptr || mask[b] != 0)
        pi[b] = std::exp((q[b] - max_q) / T(options.munchausen.temperature));
      sum += pi[b];
    }
    for (T& p : pi) p /= sum;
    return pi;
  }
  T soft_value(const std::vector<T>& q, const std::uint8_t* mask) const {
    const std::vector<T> pi = soft_policy(q, mask);
    T sum = 0;
    for (std::size_t b = 0; b < q.size(); ++b) {
      if (pi[b] > 0) sum += pi[b] * (q[b] - T(options.munchausen.temperature) * std::log(pi[b]));
    }
    return sum;
  }
  T bonus(const std::vector<T>& q, const std::uint8_t* mask, int action) const {
    const T pi = soft_policy(q, mask)[action];
    const T scaled = T(options.munchausen.temperature) * std::log(pi);  // -infinity if pi is 0
    return T(options.munchausen.alpha) * std::clamp(scaled, T(options.munchausen.clip), T(0));
  }

  T update(const Batch& batch, T rate, std::uint64_t index = 0) {
    std::vector<T> g;
    const T loss = gradient(batch, g, index);
    clip<T>(g, optimiser.options.max_grad_norm);
    optimiser.step(online, g, rate);
    return loss;
  }
};

}  // namespace hotloop::reference
