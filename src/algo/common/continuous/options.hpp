// Hyper-parameters that actor-critics with continuous actions and a replay memory share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "algo/common/replay_options.hpp"
#include "core/schedule.hpp"

namespace hotloop {

// What the actor maximises: the smallest value that a critic gives, their mean, or that of the
// first critic.
enum class ActorValue { min, mean, first };
inline constexpr std::array<std::string_view, 3> kActorValueNames = {"min", "mean", "first"};

struct CriticOptions {
  int count = 2;                 // K
  int in_target = 2;             // critics in a target; fewer than K: a random subset (REDQ)
  int quantiles = 0;             // M, that each critic predicts (TQC); 0 = only the mean
  int dropped = 2;               // largest target quantiles left out, per critic
  std::vector<int> hidden = {};  // widths of the hidden layers; empty = those of net.hidden
  bool layer_norm = false;
  double dropout = 0;   // share of hidden features that training passes drop (DroQ)
  bool crossq = false;  // batch renormalisation, s and s' in one pass, no target networks
  ActorValue actor_value = ActorValue::min;
  Schedule learning_rate = constant(3e-4);

  int outputs() const { return quantiles > 0 ? quantiles : 1; }
  // Numbers that make up a target: the quantiles that are kept, or one mean.
  int targets() const { return quantiles > 0 ? in_target * (quantiles - dropped) : 1; }
};

struct ContinuousOptions {
  CriticOptions critics = {};
  double tau = 0.005;             // target <- tau * online + (1 - tau) * target
  int policy_delay = 1;           // updates of the critics for each update of the actor
  int n_step = 1;                 // rewards summed before bootstrapping
  std::int64_t random_steps = 0;  // env steps with uniformly random actions at the beginning
  int explore_steps = 1;          // vector steps that each of them is held
  ReplayOptions replay = {};
};

}  // namespace hotloop
