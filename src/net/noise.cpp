#include "net/noise.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <numbers>

#include <hotloop/rng.hpp>

#include "net/lanes.hpp"

namespace hotloop {
namespace {

constexpr int kPairs = 8;  // Box-Muller pairs drawn together, one register of each
constexpr int kDraw = 2 * kPairs;

std::size_t noise_of(const DenseLayer& layer) {
  return layer.stride + round_up(layer.out, kLaneStep);
}

// Calls visit(layer, e_in, e_out) for each noisy layer.
template <class F>
void each_noisy(const Structure& structure, const float* noise, F&& visit) {
  for (const Layer& layer : structure.layers) {
    const auto* dense = std::get_if<DenseLayer>(&layer);
    if (dense == nullptr || !dense->noisy) continue;
    visit(*dense, noise, noise + dense->stride);
    noise += noise_of(*dense);
  }
}

}  // namespace

std::size_t noise_size(const Structure& structure) {
  std::size_t floats = 0;
  for (const Layer& layer : structure.layers) {
    const auto* dense = std::get_if<DenseLayer>(&layer);
    if (dense != nullptr && dense->noisy) floats += noise_of(*dense);
  }
  return (floats + kDraw - 1) / kDraw * kDraw;
}

// Box-Muller: radius sqrt(-2 log u), angle uniform in [-pi, pi); both cosine and sine are used.
// Each draw of 16 takes the next 16 words of the stream: 8 for the radii, 8 for the angles.
void draw_noise(const Structure& structure, std::uint64_t seed, std::uint32_t lane,
                std::uint64_t step, std::span<float> noise) {
  using Array = Eigen::Array<float, kPairs, 1>;
  assert(noise.size() == noise_size(structure));
  (void)structure;
  Rng rng(seed, Purpose::noise, lane, step);
  for (std::size_t first = 0; first < noise.size(); first += kDraw) {
    std::uint32_t bits[kDraw];
    for (std::uint32_t& word : bits) word = rng.bits();
    Array uniform, angle;
    for (int i = 0; i < kPairs; ++i) {
      uniform[i] = static_cast<float>(static_cast<std::int32_t>(bits[i] >> 8) + 1) * 0x1p-24f;
      angle[i] = static_cast<float>(static_cast<std::int32_t>(bits[kPairs + i]) >> 8) *
                 (std::numbers::pi_v<float> * 0x1p-23f);
    }
    const Array radius = (-2.0f * uniform.log()).sqrt();
    const auto store = [](const Array& normal, float* to) {
      Eigen::Map<Array> e(to);
      const Array root = normal.abs().sqrt();
      e = (normal < 0.0f).select(-root, root);
    };
    store(radius * angle.cos(), &noise[first]);
    store(radius * angle.sin(), &noise[first + kPairs]);
  }
}

void perturb(const Structure& structure, std::span<const float> parameters,
             std::span<const float> noise, std::span<float> effective) {
  std::copy(parameters.begin(), parameters.end(), effective.begin());
  each_noisy(structure, noise.data(),
             [&](const DenseLayer& layer, const float* e_in, const float* e_out) {
               const float* sigma = &parameters[layer.weight_sigma];
               const float* bias_sigma = &parameters[layer.bias_sigma];
               float* __restrict weight = &effective[layer.weight];
               float* __restrict bias = &effective[layer.bias];
               for (int o = 0; o < layer.out; ++o) {
                 const std::size_t row = static_cast<std::size_t>(o) * layer.stride;
                 for (int i = 0; i < layer.stride; ++i)
                   weight[row + i] += sigma[row + i] * (e_out[o] * e_in[i]);
               }
               for (int o = 0; o < layer.out; ++o) bias[o] += bias_sigma[o] * e_out[o];
             });
}

void noise_gradient(const Structure& structure, std::span<const float> noise,
                    std::span<float> gradient) {
  each_noisy(structure, noise.data(),
             [&](const DenseLayer& layer, const float* e_in, const float* e_out) {
               const float* weight = &gradient[layer.weight];
               const float* bias = &gradient[layer.bias];
               float* __restrict sigma = &gradient[layer.weight_sigma];
               float* __restrict bias_sigma = &gradient[layer.bias_sigma];
               for (int o = 0; o < layer.out; ++o) {
                 const std::size_t row = static_cast<std::size_t>(o) * layer.stride;
                 for (int i = 0; i < layer.stride; ++i)
                   sigma[row + i] = weight[row + i] * (e_out[o] * e_in[i]);
               }
               for (int o = 0; o < layer.out; ++o) bias_sigma[o] = bias[o] * e_out[o];
             });
}

}  // namespace hotloop
