// Hyper-parameters of PPO.
#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "algo/common/policy.hpp"
#include "algo/common/rollout_options.hpp"
#include "core/schedule.hpp"

namespace hotloop {

// What advantages are normalised over, to mean 0 and std 1.
enum class Standardise { none, batch, rollout, episode };
inline constexpr std::array<std::string_view, 4> kStandardiseNames = {"none", "batch", "rollout",
                                                                      "episode"};

// Log stds are free parameters, or outputs of the network.
enum class StdSource { state_independent, network };
inline constexpr std::array<std::string_view, 2> kStdSourceNames = {"state_independent", "network"};

struct PpoOptions {
  RolloutOptions rollout = {.n_steps = 128, .n_epochs = 4, .lambda = 0.95};
  Schedule clip_range = constant(0.2);    // clips the ratio to [1 - clip, 1 + clip]
  double clip_range_vf = 0;               // clips the change of a value; 0 = off
  double vf_coef = 0.5;                   // weight of the value loss
  std::vector<double> part_weights = {};  // value loss of each reward part; empty = only the total
  Schedule ent_coef = constant(0);        // weight of the entropy
  double entropy_floor = std::numeric_limits<double>::quiet_NaN();  // NaN = none
  double entropy_floor_coef = 2;  // weight of the penalty below the floor
  double target_kl = 0;           // no more epochs once the mean KL of one exceeds this; 0 = off
  Standardise advantages = Standardise::batch;

  // Continuous actions.
  Squash squash = Squash::smooth;
  StdSource std_source = StdSource::state_independent;
  double log_std_init = 0;  // initial value of state-independent log stds
};

}  // namespace hotloop
