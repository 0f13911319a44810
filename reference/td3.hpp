// The slow twin of src/algo/td3: one update of TD3 (Fujimoto et al. 2018), or of DDPG (Lillicrap et
// al. 2015: one critic, delay 1, sigma 0), written like the paper, in double. All noise is an
// argument. Tests and benchmarks only.
//
//   1. targets   a' = clip(tanh(target actor(s')) + clip(sigma eps, -c, c), -1, 1)
//                y  = reward_factor r + d min_k target Q_k(s', a')
//   2. critics   one step each: (q - y)^2 / 2
//   3. every `delay` updates: the actor takes one step with the new critics,
//                L = -Q_1(s, tanh(actor(s))); then all targets blend, also that of the actor
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/continuous.hpp"

namespace hotloop::reference {

struct Td3Settings {
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
  Doubles actor_target;
  std::vector<Doubles> targets;  // of the critics
  int updates = 0;

  Td3(const Td3Settings& s, const Learnt& first_actor, const std::vector<Learnt>& first_critics)
      : settings(s), actor(first_actor), critics(first_critics), actor_target(first_actor.p) {
    for (const Learnt& critic : critics) targets.push_back(critic.p);
  }

  Doubles smoothed_action(const Doubles& next, const Doubles& eps) const {
    Doubles a = actor.outputs_with(actor_target, next);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double c = settings.noise_clip, noise = std::clamp(settings.sigma * eps[i], -c, c);
      a[i] = std::clamp(std::tanh(a[i]) + noise, -1.0, 1.0);
    }
    return a;
  }

  // y [B]; `eps` [B, A].
  Doubles critic_targets(const ContinuousBatch& batch, const Doubles& eps) const {
    Doubles y;
    for (int b = 0; b < batch.size; ++b) {
      const Doubles next = row_of(batch.next_obs, b, batch.next_obs.size() / batch.size);
      const Doubles a = smoothed_action(next, row_of(eps, b, eps.size() / batch.size));
      double least = critics[0].outputs_with(targets[0], joined(next, a))[0];
      for (std::size_t k = 1; k < critics.size(); ++k)
        least = std::min(least, critics[k].outputs_with(targets[k], joined(next, a))[0]);
      y.push_back(settings.reward_factor * batch.rewards[b] + batch.discounts[b] * least);
    }
    return y;
  }

  // Adds to the gradient.
  double actor_loss(const ContinuousBatch& batch, Doubles& gradient) const {
    double loss = 0;
    for (int b = 0; b < batch.size; ++b) {
      const Doubles s = row_of(batch.obs, b, batch.obs.size() / batch.size);
      Doubles a = actor.outputs(s);
      for (double& one : a) one = std::tanh(one);
      const Doubles x = joined(s, a);
      loss -= critics[0].outputs(x)[0] / batch.size;
      Doubles unused(critics[0].p.size());
      const Doubles dx = critics[0].backward(x, {-1.0 / batch.size}, unused);
      Doubles dy(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) dy[i] = dx[s.size() + i] * (1 - a[i] * a[i]);
      actor.backward(s, dy, gradient);
    }
    return loss;
  }

  struct Losses {
    Doubles critics;
    double actor = 0;  // 0 if it was not its turn
  };
  Losses update(const ContinuousBatch& batch, const Doubles& eps) {
    const Doubles y = critic_targets(batch, eps);
    Losses losses;
    for (Learnt& critic : critics) {
      Doubles gradient(critic.p.size(), 0.0);
      losses.critics.push_back(critic_loss(critic, false, batch, y, gradient));
      critic.step(gradient, settings.critic_rate);
    }
    if (++updates % settings.delay != 0) return losses;
    Doubles gradient(actor.p.size(), 0.0);
    losses.actor = actor_loss(batch, gradient);
    actor.step(gradient, settings.actor_rate);
    blend(actor_target, actor.p, settings.tau);
    for (std::size_t k = 0; k < critics.size(); ++k) blend(targets[k], critics[k].p, settings.tau);
    return losses;
  }
};

}  // namespace hotloop::reference
