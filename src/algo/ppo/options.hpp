// Hyper-parameters of PPO, documented where they are declared.
#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "algo/common/policy.hpp"
#include "algo/common/rollout_options.hpp"
#include "core/schedule.hpp"

namespace hotloop {

// Over what advantages are brought to mean 0 and std 1.
enum class Standardise { none, batch, rollout, episode };
inline constexpr std::array<std::string_view, 4> kStandardiseNames = {"none", "batch", "rollout",
                                                                      "episode"};

// Where the log stds of actions come from: parameters of their own, or the network.
enum class StdSource { state_independent, network };
inline constexpr std::array<std::string_view, 2> kStdSourceNames = {"state_independent", "network"};

struct PpoOptions {
  RolloutOptions rollout = {.n_steps = 128, .n_epochs = 4, .lambda = 0.95};
  Schedule clip_range = constant(0.2);  // the ratio counts within 1 - clip and 1 + clip
  double clip_range_vf = 0;             // a value counts within this of the one it had; 0 = off
  double vf_coef = 0.5;                 // weight of the values' loss
  std::vector<double> part_weights =
      {};                           // of the values of each reward part; none = only the total
  Schedule ent_coef = constant(0);  // weight of the entropy
  double entropy_floor = std::numeric_limits<double>::quiet_NaN();  // NaN = none
  double entropy_floor_coef = 2;  // weight of what the entropy is short of the floor
  double target_kl = 0;  // an epoch whose mean divergence exceeds this is the last; 0 = off
  Standardise advantages = Standardise::batch;

  // Continuous actions.
  Squash squash = Squash::smooth;
  StdSource std_source = StdSource::state_independent;
  double log_std_init = 0;  // where state-independent ones start
};

}  // namespace hotloop
