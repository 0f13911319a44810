// The slow twin of src/algo/sac: one update of SAC (Haarnoja et al. 2018, with a learnt
// temperature) or TQC (Kuznetsov et al. 2020), written like the papers, in double. All noise is an
// argument. Tests and benchmarks only.
//
//   1. targets    a' from the actor at s'
//        SAC      y   = c r + d (min over the chosen target critics of Q(s', a') - alpha log p(a'))
//        TQC      y_j = c r + d (z_(j) - alpha log p(a')), z the pooled quantiles of all target
//                 critics, sorted, without the K * drop largest
//   2. critics    one step each: (q - y)^2 / 2, or quantile regression
//   3. actor      one step, with the new critics: alpha log p(a|s) - Q(s, a)
//   4. alpha      one step on log alpha: -log alpha (log p(a|s) + target entropy), with the
//                 log p of 3
//   5. targets    target += tau (online - target)
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "reference/continuous.hpp"

namespace hotloop::reference {

// What the actor maximises: over the critics, the smallest, mean or first value. The value of a
// critic with quantiles is their mean, so that TQC is `mean`.
enum class ActorValue { minimum, mean, first };

struct SacSettings {
  bool quantiles = false;  // TQC: critics have quantiles
  int drop = 0;            // TQC: targets dropped per critic
  ActorValue actor_value = ActorValue::minimum;
  double reward_factor = 1;  // c
  double tau = 0.005;
  bool learns_alpha = true;
  double target_entropy = 0;
  double actor_rate = 3e-4, critic_rate = 3e-4, alpha_rate = 3e-4;
};

struct Sac {
  SacSettings settings;
  Learnt actor;
  std::vector<Learnt> critics;
  std::vector<Doubles> targets;  // of the critics
  double log_alpha;
  Optimiser<double> alpha_optimiser;

  Sac(const SacSettings& s, const Learnt& first_actor, const std::vector<Learnt>& first_critics,
      double first_log_alpha, const OptimiserOptions& alpha_options)
      : settings(s),
        actor(first_actor),
        critics(first_critics),
        log_alpha(first_log_alpha),
        alpha_optimiser(alpha_options, 1) {
    for (const Learnt& critic : critics) targets.push_back(critic.p);
  }

  double alpha() const { return std::exp(log_alpha); }

  // y [B, 1], or [B, kept quantiles]. `eps` [B, A]; `chosen`: which target critics SAC uses, all if
  // it is empty.
  Doubles critic_targets(const ContinuousBatch& batch, const Doubles& eps,
                         const std::vector<int>& chosen = {}) const {
    Doubles y;
    for (int b = 0; b < batch.size; ++b) {
      const Doubles next = row_of(batch.next_obs, b, batch.next_obs.size() / batch.size);
      const auto a = squashed(actor.outputs(next), row_of(eps, b, eps.size() / batch.size));
      const Doubles x = joined(next, actions_of(a));
      Doubles values;
      int dropped = 0;
      for (std::size_t k = 0; k < critics.size(); ++k) {
        if (!is_chosen(chosen, static_cast<int>(k))) continue;
        values = joined(values, critics[k].outputs_with(targets[k], x));
        dropped += settings.drop;
      }
      values = settings.quantiles ? truncated(values, dropped)
                                  : Doubles{*std::min_element(values.begin(), values.end())};
      for (double value : values) {
        y.push_back(settings.reward_factor * batch.rewards[b] +
                    batch.discounts[b] * (value - alpha() * log_probability(a)));
      }
    }
    return y;
  }

  // Loss of the actor, its gradient (added), and log p(a|s) of each row.
  double actor_loss(const ContinuousBatch& batch, const Doubles& eps, Doubles& gradient,
                    Doubles& log_p) const {
    double loss = 0;
    log_p.clear();
    for (int b = 0; b < batch.size; ++b) {
      const Doubles s = row_of(batch.obs, b, batch.obs.size() / batch.size);
      const auto a = squashed(actor.outputs(s), row_of(eps, b, eps.size() / batch.size));
      Doubles dq;  // dQ/da
      const double q = value(s, actions_of(a), dq);
      log_p.push_back(log_probability(a));
      loss += (alpha() * log_p.back() - q) / batch.size;
      Doubles dy(2 * a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        dy[i] = a[i].d_mean(-dq[i] / batch.size, alpha() / batch.size);
        dy[a.size() + i] = a[i].d_log_std(-dq[i] / batch.size, alpha() / batch.size);
      }
      actor.backward(s, dy, gradient);
    }
    return loss;
  }

  // dL/d log alpha = -mean(log p + target entropy).
  double alpha_gradient(const Doubles& log_p) const {
    double sum = 0;
    for (double value : log_p) sum -= value + settings.target_entropy;
    return sum / static_cast<double>(log_p.size());
  }

  struct Losses {
    Doubles critics;
    double actor = 0;
    Doubles log_p = {};
  };
  // `next_eps` is the noise of the actions at s', `eps` of those at s.
  Losses update(const ContinuousBatch& batch, const Doubles& next_eps, const Doubles& eps,
                const std::vector<int>& chosen = {}) {
    Losses losses = update_critics(batch, next_eps, chosen);
    update_actor(batch, eps, losses);
    blend_targets();
    return losses;
  }
  Losses update_critics(const ContinuousBatch& batch, const Doubles& next_eps,
                        const std::vector<int>& chosen = {}) {
    const Doubles y = critic_targets(batch, next_eps, chosen);
    Losses losses;
    for (Learnt& critic : critics) {
      Doubles gradient(critic.p.size(), 0.0);
      losses.critics.push_back(critic_loss(critic, settings.quantiles, batch, y, gradient));
      critic.step(gradient, settings.critic_rate);
    }
    return losses;
  }
  void update_actor(const ContinuousBatch& batch, const Doubles& eps, Losses& losses) {
    Doubles gradient(actor.p.size(), 0.0);
    losses.actor = actor_loss(batch, eps, gradient, losses.log_p);
    actor.step(gradient, settings.actor_rate);
    if (!settings.learns_alpha) return;
    const double d_log_alpha = alpha_gradient(losses.log_p);
    alpha_optimiser.step({&log_alpha, 1}, {&d_log_alpha, 1}, settings.alpha_rate);
  }
  void blend_targets() {
    for (std::size_t k = 0; k < critics.size(); ++k) blend(targets[k], critics[k].p, settings.tau);
  }

  // Q(s, a) for the actor, and dQ/da.
  double value(const Doubles& s, const Doubles& a, Doubles& d_action) const {
    const Doubles x = joined(s, a);
    Doubles q;  // [K]
    for (const Learnt& critic : critics) {
      const Doubles y = critic.outputs(x);
      q.push_back(std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size()));
    }
    Doubles dq(q.size(), 0.0);
    if (settings.actor_value == ActorValue::mean) {
      std::fill(dq.begin(), dq.end(), 1.0 / static_cast<double>(q.size()));
    } else {
      const bool first = settings.actor_value == ActorValue::first;
      dq[first ? 0 : std::min_element(q.begin(), q.end()) - q.begin()] = 1;
    }
    d_action.assign(a.size(), 0.0);
    for (std::size_t k = 0; k < q.size(); ++k) {
      const auto outputs = static_cast<std::size_t>(critics[k].net.outputs);
      const Doubles dy(outputs, dq[k] / static_cast<double>(outputs));
      Doubles unused(critics[k].p.size());
      const Doubles dx = critics[k].backward(x, dy, unused);
      for (std::size_t i = 0; i < a.size(); ++i) d_action[i] += dx[s.size() + i];
    }
    return std::inner_product(q.begin(), q.end(), dq.begin(), 0.0);
  }

 private:
  static bool is_chosen(const std::vector<int>& chosen, int k) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), k) != chosen.end();
  }
};

}  // namespace hotloop::reference
