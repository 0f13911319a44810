// The losses of the Q-learning family and their gradients, one block of transitions at a time.
//
//   scalar    y = r + d Q'(s', a*);  L = loss(y - Q(s, a))
//   c51       T z_k = clamp(r + d z_k) with probability p'_k(s', a*), projected onto the two
//             nearest atoms, gives m;  L = KL(m || p(s, a)), dL/dlogit = p - m
//                                                                         (Bellemare et al. 2017)
//   quantile  T_j = r + d theta'_j(s', a*), u_ij = T_j - theta_i(s, a);
//             L = sum_i mean_j |tau_i - [u_ij < 0]| huber(u_ij)                (Dabney et al. 2018)
//
// d is gamma^n for n steps, 0 where the episode terminated. The caller chooses a*: the argmax of
// the target network, or of the online network for Double DQN. Munchausen targets (munchausen.hpp)
// are passed as a bonus and values of s'. Importance weights, if any, multiply the loss of each
// transition.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "algo/common/q/head.hpp"

namespace hotloop {

enum class Loss { mse, huber };
inline constexpr std::array<std::string_view, 2> kLossNames = {"mse", "huber"};

// One transition's loss and its derivative with respect to Q(s, a), for error = y - Q(s, a).
struct LossTerm {
  float value, slope;
};
LossTerm td_loss(Loss loss, float error);

struct LossBlock {
  int rows = 0;                                // transitions, at most kLanes
  int width = 0;                               // rows, rounded up to kLaneStep
  const std::int32_t* actions = nullptr;       // [rows]
  const float* rewards = nullptr;              // [rows]
  const float* discounts = nullptr;            // [rows]
  const float* weights = nullptr;              // [rows] or null
  const std::int32_t* next_actions = nullptr;  // [rows] a*
  const float* next = nullptr;                 // outputs at s', [actions * atoms][kLanes]
  const float* next_values = nullptr;          // [rows] used instead of Q'(s', a*), or null
  const float* bonus = nullptr;                // [rows] added to the rewards, or null
  const float* outputs = nullptr;              // outputs at s
  float reward_factor = 1;                     // rewards are multiplied by this
  float share = 1;                             // weight of a transition in the mean: 1 / batch
  float* gradient = nullptr;                   // dL/doutputs, overwritten
  float* errors = nullptr;  // [rows] for priorities: |y - Q|, or the distributional loss
  float* losses = nullptr;  // [rows] weighted
  float* values = nullptr;  // [rows] Q(s, a)
};

// `scratch` holds loss_scratch(head) floats, 64-byte aligned.
void q_loss(const QHead& head, Loss loss, const LossBlock& block, float* scratch);
std::size_t loss_scratch(const QHead& head);

}  // namespace hotloop
