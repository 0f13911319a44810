// Signs that foretell how Q-learning fails, read when metrics are written, and what to say about
// them.
//
//   largest_q       |Q(s, a)| over a probe of stored states, against the most that any policy can
//                   earn: largest reward / (1 - gamma). Above it, values are diverging.
//   action_gap      mean of best minus second best Q(s, a). Near zero, the policy hangs on noise.
//   terminal_share  share of terminal transitions in replay. When there are none left, nothing holds
//                   their values in place, and the policy is forgotten while the loss stays quiet.
//   target_lag      |online - target| / |online| just before the target network syncs. Large, the
//                   targets belong to another network.
//   gradient_norm   mean over the updates since the last row, before clipping.
//   beyond          c51: the values of the probe lie, on average, at an end of the support, although
//                   rewards may add up to this, beyond that end: returns there cannot be told apart.
//
// A sign must be bad in two rows in a row before a warning is raised, and is raised once per run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

struct Health {
  double largest_q = kNone;
  double q_bound = kNone;  // NaN if gamma is 1
  double action_gap = kNone;
  double terminal_share = kNone;
  double target_lag = kNone;
  double gradient_norm = kNone;  // NaN if there was no update
  double beyond = 0;             // 0 if they do not
  double end = kNone;            // the end of the support that they lie at
};

Health examine(Trainer& trainer);

// Which signs of `health` are bad, a bit for each kind of warning.
std::uint32_t bad_signs(const Health& health, const TrainSpec& spec);

// Records what `health` shows; returns the warnings that are new.
std::vector<std::string> watch(const Health& health, const TrainSpec& spec, std::int64_t env_steps,
                               HealthRecord& record);

}  // namespace hotloop
