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
//
// 3 and 4 wait for their turn, every `delay` updates. continuous.hpp says what CrossQ and DroQ
// change.
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
  bool crossq = false;
  bool quantiles = false;  // TQC: critics have quantiles
  int drop = 0;            // TQC: targets dropped per critic
  ActorValue actor_value = ActorValue::minimum;
  double reward_factor = 1;  // c
  double tau = 0.005;
  int delay = 1;  // updates of the critics for each of the actor and alpha
  bool learns_alpha = true;
  double target_entropy = 0;
  double actor_rate = 3e-4, critic_rate = 3e-4, alpha_rate = 3e-4;
};

struct Sac {
  SacSettings settings;
  Learnt actor;
  std::vector<Learnt> critics;
  std::vector<Doubles> targets;  // of the critics; empty arrays in CrossQ
  double log_alpha;
  Optimiser<double> alpha_optimiser;
  int updates = 0;

  Sac(const SacSettings& s, const Learnt& first_actor, const std::vector<Learnt>& first_critics,
      double first_log_alpha, const OptimiserOptions& alpha_options)
      : settings(s),
        actor(first_actor),
        critics(first_critics),
        log_alpha(first_log_alpha),
        alpha_optimiser(alpha_options, 1) {
    for (const Learnt& critic : critics) targets.push_back(s.crossq ? Doubles{} : critic.p);
  }

  double alpha() const { return std::exp(log_alpha); }

  // Actions of the actor at s', from `eps` [B, A].
  struct Next {
    Rows x;         // [s' | a']
    Doubles log_p;  // [B]
  };
  Next next_states(const ContinuousBatch& batch, const Doubles& eps) const {
    Next next;
    for (int b = 0; b < batch.size; ++b) {
      const Doubles s = row_of(batch.next_obs, b, batch.next_obs.size() / batch.size);
      const auto a = squashed(actor.outputs(s), row_of(eps, b, eps.size() / batch.size));
      next.x.push_back(joined(s, actions_of(a)));
      next.log_p.push_back(log_probability(a));
    }
    return next;
  }

  // y [B, 1], or [B, kept quantiles]. `chosen`: which target critics SAC uses, all if it is empty.
  Doubles critic_targets(const ContinuousBatch& batch, const Doubles& eps,
                         const std::vector<int>& chosen = {}, const Masks& masks = {}) const {
    const CriticPasses passes{settings.crossq, masks};
    const Next next = next_states(batch, eps);
    Rows pooled(batch.size);  // values of the chosen critics
    int dropped = 0;
    for (int k = 0; k < static_cast<int>(critics.size()); ++k) {
      if (!is_chosen(chosen, k)) continue;
      pooled = joined(pooled, passes.next_values(critics[k], targets[k], k, batch, next.x));
      dropped += settings.drop;
    }
    Doubles y;
    for (int b = 0; b < batch.size; ++b) {
      const Doubles values = settings.quantiles
                                 ? truncated(pooled[b], dropped)
                                 : Doubles{*std::min_element(pooled[b].begin(), pooled[b].end())};
      for (double value : values) {
        y.push_back(settings.reward_factor * batch.rewards[b] +
                    batch.discounts[b] * (value - alpha() * next.log_p[b]));
      }
    }
    return y;
  }

  // Loss of the actor, its gradient (added), and log p(a|s) of each row.
  double actor_loss(const ContinuousBatch& batch, const Doubles& eps, Doubles& gradient,
                    Doubles& log_p, const Masks& masks = {}) const {
    const Rows s = rows_of(batch.obs, batch.size);
    const Rows outputs = actor.outputs(s, actor_training());
    std::vector<std::vector<Squashed>> a;
    Rows actions;
    for (int b = 0; b < batch.size; ++b) {
      a.push_back(squashed(outputs[b], row_of(eps, b, eps.size() / batch.size)));
      actions.push_back(actions_of(a[b]));
    }
    Rows dq;  // dQ/da
    const Doubles q = values(s, actions, dq, masks);
    double loss = 0;
    log_p.clear();
    Rows dy;
    for (int b = 0; b < batch.size; ++b) {
      const std::size_t size = a[b].size();
      log_p.push_back(log_probability(a[b]));
      loss += (alpha() * log_p[b] - q[b]) / batch.size;
      dy.emplace_back(2 * size);
      for (std::size_t i = 0; i < size; ++i) {
        dy[b][i] = a[b][i].d_mean(-dq[b][i] / batch.size, alpha() / batch.size);
        dy[b][size + i] = a[b][i].d_log_std(-dq[b][i] / batch.size, alpha() / batch.size);
      }
    }
    actor.backward(s, dy, actor_training(), gradient);
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
                const std::vector<int>& chosen = {}, const Masks& masks = {}) {
    Losses losses = update_critics(batch, next_eps, chosen, masks);
    if (++updates % settings.delay == 0) update_actor(batch, eps, losses, masks);
    blend_targets();
    return losses;
  }
  Losses update_critics(const ContinuousBatch& batch, const Doubles& next_eps,
                        const std::vector<int>& chosen = {}, const Masks& masks = {}) {
    const CriticPasses passes{settings.crossq, masks};
    const Doubles y = critic_targets(batch, next_eps, chosen, masks);
    Rows x = taken_rows(batch);
    if (settings.crossq) x = stacked(x, next_states(batch, next_eps).x);
    Losses losses;
    for (std::size_t k = 0; k < critics.size(); ++k) {
      const Training training = passes.online(static_cast<int>(k));
      Doubles gradient(critics[k].p.size(), 0.0);
      losses.critics.push_back(
          critic_loss(critics[k], settings.quantiles, batch, y, gradient, x, training));
      critics[k].step(gradient, settings.critic_rate, x, training);
    }
    return losses;
  }
  void update_actor(const ContinuousBatch& batch, const Doubles& eps, Losses& losses,
                    const Masks& masks = {}) {
    Doubles gradient(actor.p.size(), 0.0);
    losses.actor = actor_loss(batch, eps, gradient, losses.log_p, masks);
    actor.step(gradient, settings.actor_rate, rows_of(batch.obs, batch.size), actor_training());
    if (!settings.learns_alpha) return;
    const double d_log_alpha = alpha_gradient(losses.log_p);
    alpha_optimiser.step({&log_alpha, 1}, {&d_log_alpha, 1}, settings.alpha_rate);
  }
  void blend_targets() {
    for (std::size_t k = 0; k < critics.size(); ++k) blend(targets[k], critics[k].p, settings.tau);
  }

  // Q(s, a) of each row for the actor, and dQ/da.
  Doubles values(const Rows& s, const Rows& a, Rows& d_action, const Masks& masks = {}) const {
    const CriticPasses passes{settings.crossq, masks};
    const Rows x = joined(s, a);
    Rows q(x.size());  // [B][K]
    for (std::size_t k = 0; k < critics.size(); ++k) {
      const Rows y = critics[k].outputs(x, passes.actor(static_cast<int>(k)));
      for (std::size_t b = 0; b < x.size(); ++b) {
        q[b].push_back(std::accumulate(y[b].begin(), y[b].end(), 0.0) /
                       static_cast<double>(y[b].size()));
      }
    }
    Doubles result;
    Rows dq;  // [B][K]
    for (const Doubles& row : q) {
      dq.push_back(share_of_critics(row));
      result.push_back(std::inner_product(row.begin(), row.end(), dq.back().begin(), 0.0));
    }
    d_action.assign(x.size(), Doubles(a[0].size(), 0.0));
    for (std::size_t k = 0; k < critics.size(); ++k) {
      const auto outputs = static_cast<std::size_t>(critics[k].net.outputs);
      Rows dy;
      for (const Doubles& row : dq) dy.emplace_back(outputs, row[k] / static_cast<double>(outputs));
      Doubles unused(critics[k].p.size());
      const Rows dx = critics[k].backward(x, dy, passes.actor(static_cast<int>(k)), unused);
      for (std::size_t b = 0; b < x.size(); ++b) {
        for (std::size_t i = 0; i < a[b].size(); ++i) d_action[b][i] += dx[b][s[b].size() + i];
      }
    }
    return result;
  }

 private:
  // When the actor learns, its batch norm trains.
  Training actor_training() const {
    return settings.crossq ? Training(TrainingPass{}) : Training{};
  }
  // The weight of each critic in the actor value, given Q of each: [K].
  Doubles share_of_critics(const Doubles& q) const {
    if (settings.actor_value == ActorValue::mean)
      return Doubles(q.size(), 1.0 / static_cast<double>(q.size()));
    const bool first = settings.actor_value == ActorValue::first;
    Doubles shares(q.size(), 0.0);
    shares[first ? 0 : std::min_element(q.begin(), q.end()) - q.begin()] = 1;
    return shares;
  }
  static bool is_chosen(const std::vector<int>& chosen, int k) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), k) != chosen.end();
  }
};

}  // namespace hotloop::reference
