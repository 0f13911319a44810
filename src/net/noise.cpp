#include "net/noise.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>

#include <hotloop/rng.hpp>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

constexpr int kPairs = kLaneStep;  // Box-Muller pairs drawn together: one register
constexpr int kDraw = 2 * kPairs;
using Array = Eigen::Array<float, kPairs, 1>;

// Taylor series, exact to rounding within [-pi/4, pi/4]; a general sine would spend its time on
// reducing its argument.
inline float sine(float x) {
  const float s = x * x;
  return x * (1 - s * (1.0f / 6) *
                      (1 - s * (1.0f / 20) * (1 - s * (1.0f / 42) * (1 - s * (1.0f / 72)))));
}
inline float cosine(float x) {
  const float s = x * x;
  return 1 - s * (1.0f / 2) * (1 - s * (1.0f / 12) * (1 - s * (1.0f / 30) * (1 - s * (1.0f / 56))));
}
inline float signed_root(float x) { return std::copysign(std::sqrt(std::abs(x)), x); }

std::size_t noise_of(const DenseLayer& layer) {
  return layer.stride + round_up(layer.out, kLaneStep);
}

// Calls visit(layer, e_in, e_out) for each noisy layer.
template <class F>
void each_noisy(const Structure& structure, const float* noise, F&& visit) {
  each_dense(structure, [&](const DenseLayer& dense) {
    if (!dense.noisy) return;
    visit(dense, noise, noise + dense.stride);
    noise += noise_of(dense);
  });
}

}  // namespace

std::size_t noise_size(const Structure& structure) {
  std::size_t floats = 0;
  each_dense(structure, [&](const DenseLayer& dense) {
    if (dense.noisy) floats += noise_of(dense);
  });
  return (floats + kDraw - 1) / kDraw * kDraw;
}

// Box-Muller: a radius sqrt(-2 log u) and a uniform direction give two independent normals. Each
// draw of 16 takes the next 16 words of the stream. The upper 24 bits of the first eight are u in
// (0, 1]. Those of the last eight are an angle within a quarter turn about zero. Their lowest bit
// decides whether the two coordinates are swapped (which makes it half a turn), and the next bit
// whether both change sign (a full turn).
void draw_noise([[maybe_unused]] const Structure& structure, std::uint64_t seed, std::uint32_t lane,
                std::uint64_t step, std::span<float> noise) {
  assert(noise.size() == noise_size(structure));
  Rng rng(seed, Purpose::noise, lane, step);
  for (std::size_t first = 0; first < noise.size(); first += kDraw) {
    alignas(32) std::int32_t words[kDraw];
    for (int i = 0; i < kDraw; i += 4) {
      const std::array<std::uint32_t, 4> block = rng.block();
      std::memcpy(words + i, block.data(), sizeof block);
    }
    // Plain loops of eight, which the compiler turns into one register each; Eigen has the
    // logarithm.
    Array radius, along, across;
    for (int i = 0; i < kPairs; ++i)
      radius[i] = static_cast<float>((words[i] >> 8 & 0xffffff) + 1) * 0x1p-24f;
    radius = square_roots<kPairs>(-2.0f * radius.log());
    for (int i = 0; i < kPairs; ++i) {
      const std::int32_t word = words[kPairs + i];
      const float angle =
          static_cast<float>(word >> 8) * (std::numbers::pi_v<float> / 4 * 0x1p-23f);
      const float r = (word & 2) != 0 ? radius[i] : -radius[i];
      along[i] = r * cosine(angle);
      across[i] = r * sine(angle);
    }
    for (int i = 0; i < kPairs; ++i) {
      const bool keep = (words[kPairs + i] & 1) != 0;
      noise[first + i] = signed_root(keep ? along[i] : across[i]);
      noise[first + kPairs + i] = signed_root(keep ? across[i] : along[i]);
    }
  }
}

// Rows are processed in steps of eight, including the padding: its sigmas and gradients are zero.
void perturb(const Structure& structure, std::span<const float> parameters,
             std::span<const float> noise, std::span<float> effective) {
  std::copy(parameters.begin(), parameters.end(), effective.begin());
  each_noisy(structure, noise.data(),
             [&](const DenseLayer& layer, const float* e_in, const float* e_out) {
               const float* sigma = &parameters[layer.weight_sigma];
               float* weight = &effective[layer.weight];
               for (int o = 0; o < layer.out; ++o) {
                 for (int i = 0; i < layer.stride; i += kLaneStep) {
                   const std::size_t at = static_cast<std::size_t>(o) * layer.stride + i;
                   Eigen::Map<Array>(weight + at) += Eigen::Map<const Array>(sigma + at) *
                                                     (e_out[o] * Eigen::Map<const Array>(e_in + i));
                 }
                 effective[layer.bias + o] += parameters[layer.bias_sigma + o] * e_out[o];
               }
             });
}

void noise_gradient(const Structure& structure, std::span<const float> noise,
                    std::span<float> gradient) {
  each_noisy(structure, noise.data(),
             [&](const DenseLayer& layer, const float* e_in, const float* e_out) {
               const float* weight = &gradient[layer.weight];
               float* sigma = &gradient[layer.weight_sigma];
               for (int o = 0; o < layer.out; ++o) {
                 for (int i = 0; i < layer.stride; i += kLaneStep) {
                   const std::size_t at = static_cast<std::size_t>(o) * layer.stride + i;
                   Eigen::Map<Array>(sigma + at) = Eigen::Map<const Array>(weight + at) *
                                                   (e_out[o] * Eigen::Map<const Array>(e_in + i));
                 }
                 gradient[layer.bias_sigma + o] = gradient[layer.bias + o] * e_out[o];
               }
             });
}

}  // namespace hotloop
