// The squashed Gaussian policy of SAC (Haarnoja et al. 2018), one block of lanes at a time:
//
//   u = m + s e, s = exp(l), e ~ N(0, 1);  a = tanh(u), dimensions independent
//   log pi(a) = sum -e^2 / 2 - l - log(2 pi) / 2 - log(1 - tanh(u)^2)
//   log(1 - tanh(u)^2) = 2 (log 2 - |u| - log(1 + exp(-2 |u|))), exact for any u
//
// Log stds l are clamped to [-20, 2] and have gradient zero outside. With e fixed,
//
//   dL/du = dL/da (1 - a^2) + 2 a dL/dlogpi,  dL/dm = dL/du,  dL/dl = s e dL/du - dL/dlogpi
//
// Outputs of the network are [m | l], [2 A][kLanes].
#pragma once

namespace hotloop {

// noise [A][kLanes] is e; fills action and spread (s e) [A][kLanes], log_probability [kLanes].
void sample_squashed(int actions, int width, const float* outputs, const float* noise,
                     float* action, float* spread, float* log_probability);

// dL/d outputs from dL/da [A][kLanes] and dL/dlogpi [kLanes].
void squashed_gradient(int actions, int width, const float* outputs, const float* action,
                       const float* spread, const float* d_action, const float* d_log_probability,
                       float* d_outputs);

}  // namespace hotloop
