// The slow twin of src/algo/td3: one update of TD3 (Fujimoto et al. 2018), or of DDPG (Lillicrap et
// al. 2015: one critic, delay 1, sigma 0), written like the paper, in double. All noise is an
// argument. Tests and benchmarks only.
//
//   1. targets   a' = clip(tanh(target actor(s')) + clip(sigma eps, -c, c), -1, 1)
//                y  = reward_factor r + d min_k target Q_k(s', a')
//   2. critics   one step each: (q - y)^2 / 2
//   3. every `delay` updates: the actor takes one step with the new critics,
//                L = -Q_1(s, tanh(actor(s))); then all targets blend, also that of the actor
//
// continuous.hpp says what CrossQ and DroQ change.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/continuous.hpp"

namespace hotloop::reference {

struct Td3Settings {
  bool crossq = false;
  double sigma = 0.2, noise_clip = 0.5;
  int delay = 2;
  double reward_factor = 1;
  double tau = 0.005;
  double actor_rate = 1e-3, critic_rate = 1e-3;
};

struct Td3 {
  Td3Settings settings;
  Learnt actor;
  std::vector<Learnt> critics;
  Doubles actor_target;          // empty in CrossQ
  std::vector<Doubles> targets;  // of the critics; empty arrays in CrossQ
  int updates = 0;

  Td3(const Td3Settings& s, const Learnt& first_actor, const std::vector<Learnt>& first_critics)
      : settings(s),
        actor(first_actor),
        critics(first_critics),
        actor_target(s.crossq ? Doubles{} : first_actor.p) {
    for (const Learnt& critic : critics) targets.push_back(s.crossq ? Doubles{} : critic.p);
  }

  Doubles smoothed_action(const Doubles& next, const Doubles& eps) const {
    Doubles a = actor.outputs_with(settings.crossq ? actor.p : actor_target, next);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double c = settings.noise_clip, noise = std::clamp(settings.sigma * eps[i], -c, c);
      a[i] = std::clamp(std::tanh(a[i]) + noise, -1.0, 1.0);
    }
    return a;
  }

  // [s' | a'] of each row; `eps` [B, A].
  Rows next_states(const ContinuousBatch& batch, const Doubles& eps) const {
    Rows next;
    for (int b = 0; b < batch.size; ++b) {
      const Doubles s = row_of(batch.next_obs, b, batch.next_obs.size() / batch.size);
      next.push_back(joined(s, smoothed_action(s, row_of(eps, b, eps.size() / batch.size))));
    }
    return next;
  }

  // y [B]
  Doubles critic_targets(const ContinuousBatch& batch, const Doubles& eps,
                         const Masks& masks = {}) const {
    const CriticPasses passes{settings.crossq, masks};
    const Rows next = next_states(batch, eps);
    Rows q(batch.size);  // [B][K]
    for (std::size_t k = 0; k < critics.size(); ++k) {
      q = joined(q, passes.next_values(critics[k], targets[k], static_cast<int>(k), batch, next));
    }
    Doubles y;
    for (int b = 0; b < batch.size; ++b) {
      const double least = *std::min_element(q[b].begin(), q[b].end());
      y.push_back(settings.reward_factor * batch.rewards[b] + batch.discounts[b] * least);
    }
    return y;
  }

  // Adds to the gradient.
  double actor_loss(const ContinuousBatch& batch, Doubles& gradient,
                    const Masks& masks = {}) const {
    const Training training = CriticPasses{settings.crossq, masks}.actor(0);
    const Rows s = rows_of(batch.obs, batch.size);
    Rows a = actor.outputs(s, actor_training());
    for (Doubles& row : a) {
      for (double& one : row) one = std::tanh(one);
    }
    const Rows x = joined(s, a);
    double loss = 0;
    for (const Doubles& q : critics[0].outputs(x, training)) loss -= q[0] / batch.size;
    Doubles unused(critics[0].p.size());
    const Rows dx = critics[0].backward(x, Rows(batch.size, {-1.0 / batch.size}), training, unused);
    Rows dy = a;
    for (int b = 0; b < batch.size; ++b) {
      for (std::size_t i = 0; i < a[b].size(); ++i)
        dy[b][i] = dx[b][s[b].size() + i] * (1 - a[b][i] * a[b][i]);
    }
    actor.backward(s, dy, actor_training(), gradient);
    return loss;
  }

  struct Losses {
    Doubles critics;
    double actor = 0;  // 0 if it was not its turn
  };
  Losses update(const ContinuousBatch& batch, const Doubles& eps, const Masks& masks = {}) {
    const CriticPasses passes{settings.crossq, masks};
    const Doubles y = critic_targets(batch, eps, masks);
    Rows x = taken_rows(batch);
    if (settings.crossq) x = stacked(x, next_states(batch, eps));
    Losses losses;
    for (std::size_t k = 0; k < critics.size(); ++k) {
      const Training training = passes.online(static_cast<int>(k));
      Doubles gradient(critics[k].p.size(), 0.0);
      losses.critics.push_back(critic_loss(critics[k], false, batch, y, gradient, x, training));
      critics[k].step(gradient, settings.critic_rate, x, training);
    }
    if (++updates % settings.delay != 0) return losses;
    Doubles gradient(actor.p.size(), 0.0);
    losses.actor = actor_loss(batch, gradient, masks);
    actor.step(gradient, settings.actor_rate, rows_of(batch.obs, batch.size), actor_training());
    blend(actor_target, actor.p, settings.tau);
    for (std::size_t k = 0; k < critics.size(); ++k) blend(targets[k], critics[k].p, settings.tau);
    return losses;
  }

 private:
  // When the actor learns, its batch norm trains.
  Training actor_training() const {
    return settings.crossq ? Training(TrainingPass{}) : Training{};
  }
};

}  // namespace hotloop::reference
