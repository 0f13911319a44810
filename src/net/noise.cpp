#include "net/noise.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>

#include <hotloop/rng.hpp>

#include "net/kernels/normals.hpp"

namespace hotloop {
namespace {

using Array = Eigen::Array<float, kLaneStep, 1>;

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
  return (floats + kNormalsPerDraw - 1) / kNormalsPerDraw * kNormalsPerDraw;
}

void draw_noise([[maybe_unused]] const Structure& structure, std::uint64_t seed, std::uint32_t lane,
                std::uint64_t step, std::span<float> noise) {
  assert(noise.size() == noise_size(structure));
  Rng rng(seed, Purpose::noise, lane, step);
  draw_normals(rng, noise);
  for (float& value : noise) value = signed_root(value);
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
