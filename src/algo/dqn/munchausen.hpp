// Munchausen targets (Vieillard, Pietquin and Geist 2020): the scaled log-policy is added to the
// reward, and the next state has the soft value of the same policy.
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

// q [actions][kLanes] with -infinity for masked actions: q itself if there are no masks [rows,
// actions], otherwise a copy in scratch.
const float* allowed_values(const float* q, int actions, int rows, const std::uint8_t* masks,
                            float* scratch);

// V of the first `width` lanes (a multiple of 8) of a block q [actions][kLanes].
void soft_values(int actions, int width, float temperature, const float* q, float* values);

// The bonus that is added to the rewards of the `rows` transitions of a block.
void munchausen_bonus(const Munchausen& options, int actions, int rows, int width, const float* q,
                      const std::int32_t* taken, float* bonus);

}  // namespace hotloop
