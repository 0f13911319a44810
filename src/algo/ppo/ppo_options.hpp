// What PPO has besides what it shares with other on-policy learning (q_options.hpp: gamma, lambda,
// rollout, epochs, batch, learning rate, normalisation).
#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "algo/common/policy.hpp"
#include "core/schedule.hpp"

namespace hotloop {

// Over what advantages are brought to mean 0 and deviation 1.
enum class Standardise { none, batch, rollout, episode };
inline constexpr std::array<std::string_view, 4> kStandardiseNames = {"none", "batch", "rollout",
                                                                      "episode"};

// Where the log deviations of actions come from: parameters of their own, or the network.
enum class Deviation { free, network };
inline constexpr std::array<std::string_view, 2> kDeviationNames = {"free", "network"};

struct PpoOptions {
  Schedule clip = constant(0.2);  // the ratio counts within 1 - clip and 1 + clip
  double value_clip = 0;          // a value counts within this of the one it had; 0 = off
  double value_weight = 0.5;      // of the values' loss
  std::vector<double> part_weights =
      {};                          // of the values of each reward part; none = only the total
  Schedule entropy = constant(0);  // weight of the entropy
  double entropy_floor = std::numeric_limits<double>::quiet_NaN();  // NaN = none
  double entropy_floor_weight = 2;  // of what the entropy is short of the floor
  double target_kl = 0;  // an epoch whose mean divergence exceeds this is the last; 0 = off
  Standardise advantages = Standardise::batch;

  // Actions in a box.
  Squash squash = Squash::smooth;
  Deviation deviation = Deviation::free;
  double log_deviation = 0;  // where it starts, if it is free
};

}  // namespace hotloop
