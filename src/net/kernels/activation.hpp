// Activations over blocks of lanes, fused with the bias before and the derivative after.
//
//   leaky ReLU: slope 0.01 below zero.   SELU: Klambauer et al. 2017.   GELU: exact, z * Phi(z).
//
// All derivatives but GELU's are functions of the output alone; GELU's is kept by the forward pass.
#pragma once

#include "net/options.hpp"

namespace hotloop {

inline constexpr float kLeakySlope = 0.01f;
inline constexpr float kSeluScale = 1.0507009873554804934f;
inline constexpr float kSeluAlpha = 1.6732632423543772848f;

// In place on z [features][kLanes], the first `width` lanes: z <- act(z + bias). For GELU, `slope`
// (same shape) receives the derivative if it is not null.
void add_bias_and_activate(Activation activation, const float* bias, int features, int width,
                           float* z, float* slope);

// The same for one sample, z [features] contiguous. `bias` may be read up to a multiple of
// kLaneStep floats.
void add_bias_and_activate_one(Activation activation, const float* bias, int features, float* z);

// In place on d [features][kLanes]: d <- d * act'(.), given the outputs y of the forward pass (and
// the slope kept for GELU); bias_gradient[f] (+)= sum over the lanes, unless that is null.
void backward_through_activation(Activation activation, const float* y, const float* slope,
                                 int features, int width, float* d, float* bias_gradient,
                                 bool accumulate);

// bias_gradient[f] (+)= sum of dz [features][kLanes] over the lanes, in the same order.
void add_bias_gradient(const float* dz, int features, int width, float* bias_gradient,
                       bool accumulate);

}  // namespace hotloop
