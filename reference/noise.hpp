// The slow twin of src/net/noise: one number at a time, in any precision. Tests only.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/structure.hpp"

namespace hotloop::reference {

// Draws 16 numbers at a time: eight words give the radii of Box-Muller pairs and eight their
// directions. The first numbers of the eight pairs come before their second numbers.
template <class T>
std::vector<T> draw_noise(std::size_t size, std::uint64_t seed, std::uint32_t lane,
                          std::uint64_t step) {
  const auto root = [](T x) { return x < 0 ? -std::sqrt(-x) : std::sqrt(x); };
  Rng rng(seed, Purpose::noise, lane, step);
  std::vector<T> noise(size);
  for (std::size_t first = 0; first < size; first += 16) {
    T radius[8];
    for (T& r : radius) r = std::sqrt(-2 * std::log(T((rng.bits() >> 8) + 1) / T(1 << 24)));
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t word = rng.bits();
      const T angle =
          std::numbers::pi_v<T> / 4 * T(static_cast<std::int32_t>(word) >> 8) / (1 << 23);
      const T sign = (word & 2) != 0 ? 1 : -1;
      T pair[2] = {sign * radius[i] * std::sin(angle), sign * radius[i] * std::cos(angle)};
      if ((word & 1) != 0) std::swap(pair[0], pair[1]);
      noise[first + i] = root(pair[0]);
      noise[first + 8 + i] = root(pair[1]);
    }
  }
  return noise;
}

// Calls visit(mean, sigma, e) for each noisy parameter: two indices into the flat array, and their
// noise.
template <class T, class F>
void each_noisy_parameter(const Structure& net, std::span<const T> noise, F&& visit) {
  std::size_t begin = 0;
  each_dense(net, [&](const DenseLayer& layer) {
    if (!layer.noisy) return;
    const std::span<const T> e_in = noise.subspan(begin, layer.in);
    const std::span<const T> e_out = noise.subspan(begin + (layer.in + 7) / 8 * 8, layer.out);
    begin += (layer.in + 7) / 8 * 8 + (layer.out + 7) / 8 * 8;
    for (int o = 0; o < layer.out; ++o) {
      visit(layer.bias + o, layer.bias_sigma + o, e_out[o]);
      for (int i = 0; i < layer.in; ++i) {
        const std::size_t at = o * layer.stride + i;
        visit(layer.weight + at, layer.weight_sigma + at, e_out[o] * e_in[i]);
      }
    }
  });
}

template <class T>
std::vector<T> perturb(const Structure& net, std::span<const T> parameters,
                       std::span<const T> noise) {
  std::vector<T> effective(parameters.begin(), parameters.end());
  each_noisy_parameter(net, noise, [&](std::size_t mean, std::size_t sigma, T e) {
    effective[mean] += parameters[sigma] * e;
  });
  return effective;
}

template <class T>
void noise_gradient(const Structure& net, std::span<const T> noise, std::span<T> gradient) {
  each_noisy_parameter(net, noise, [&](std::size_t mean, std::size_t sigma, T e) {
    gradient[sigma] = gradient[mean] * e;
  });
}

}  // namespace hotloop::reference
