// Munchausen targets (Vieillard, Pietquin and Geist 2020): the policy's own confidence is part of the
// reward, and the next state is valued by the same soft policy.
//
//   pi = softmax(Q_target / tau)
//   y = r + alpha clip(tau log pi(a|s), clip, 0)
//         + d sum_b pi(b|s') (Q_target(s', b) - tau log pi(b|s'))
//
// With V(s) = tau log sum_b exp(Q_target(s, b) / tau) the sum is V(s'), and tau log pi(a|s) is
// Q_target(s, a) - V(s).
#pragma once

#include <cstdint>

namespace hotloop {

struct Munchausen {
  float alpha;  // 0 = off
  float temperature;
  float clip;  // at most 0
};

// q [actions][kLanes] with -infinity where masks [rows, actions] forbid: q itself if there are none, else
// copied to scratch.
const float* allowed_values(const float* q, int actions, int rows, const std::uint8_t* masks,
                            float* scratch);

// V of a block of lanes q [actions][kLanes], the first `width` of them, a multiple of 8, into values.
void soft_values(int actions, int width, float temperature, const float* q, float* values);

// What is added to the rewards of the block's `rows` transitions.
void munchausen_bonus(const Munchausen& options, int actions, int rows, int width, const float* q,
                      const std::int32_t* taken, float* bonus);

}  // namespace hotloop
