// Noisy networks with factorised Gaussian noise (Fortunato et al. 2018), outside the passes:
//
//   W + sigma_W * e_out e_in',  b + sigma_b * e_out,   e = f(normal draws), f(x) = sign(x) sqrt|x|
//
// A step draws the e of all noisy layers, perturbs the parameters into an effective array, and
// runs forward and backward on that. The gradient of W and b is that of their effective values;
// times the noise, it is the gradient of the stds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/structure.hpp"

namespace hotloop {

// Number of noise floats: e_in [stride] and e_out [out, rounded up to 8] of each noisy layer in
// turn, padded to whole draws of 16.
std::size_t noise_size(const Structure& structure);

// Fills `noise` (noise_size floats) from the stream (seed, noise, lane, step).
void draw_noise(const Structure& structure, std::uint64_t seed, std::uint32_t lane,
                std::uint64_t step, std::span<float> noise);

// The effective parameters; tensors without noise are copied.
void perturb(const Structure& structure, std::span<const float> parameters,
             std::span<const float> noise, std::span<float> effective);

// Completes the gradient that backward computed for the effective parameters:
//   d sigma_W = dW * e_out e_in',  d sigma_b = db * e_out.
void noise_gradient(const Structure& structure, std::span<const float> noise,
                    std::span<float> gradient);

}  // namespace hotloop
