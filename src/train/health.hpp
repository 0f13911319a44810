// Early signs that Q-learning is failing, checked whenever metrics are written, and the warnings
// about them.
//
//   largest_q       max |Q(s, a)| over a sample of stored states, compared to the largest possible
//                   return: largest reward / (1 - gamma). Above it, values are diverging.
//   action_gap      mean of best minus second best Q(s, a). If it is near zero, noise decides the
//                   policy.
//   terminal_share  share of terminal transitions in replay. Without any, nothing anchors the
//                   values, and the policy is forgotten while the loss stays low.
//   target_lag      |online - target| / |online| just before the target network syncs. If it is
//                   large, the targets come from a very different network.
//   critic_bias     mean of Q(s, a) minus the discounted return that followed, over the first
//                   transitions of the latest episodes. If it is large, the critics overestimate.
//   gradient_norm   mean over the updates since the last row, before clipping.
//   beyond          c51: the mean value of the sample is at an end of the support, but the possible
//                   return is this, beyond that end. The head cannot distinguish returns beyond it.
//
// A warning is raised when a sign is bad in two consecutive rows, once per sign and run.
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
  double critic_bias = kNone;
  double return_scale = kNone;   // size and spread of the returns it was compared with
  double gradient_norm = kNone;  // NaN if there was no update
  double beyond = 0;             // 0 = values are not at an end of the support
  double end = kNone;            // that end of the support
};

Health examine(Trainer& trainer);

// The bad signs, one bit per Sign.
std::uint32_t bad_signs(const Health& health, const TrainSpec& spec);

// Updates the record; returns the new warnings.
std::vector<std::string> watch(const Health& health, const TrainSpec& spec, std::int64_t env_steps,
                               HealthRecord& record);

}  // namespace hotloop
