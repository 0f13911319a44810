// Optimisers as one pass over the flat parameter array, clipping included. g is the gradient times
// the clip factor (plus weight_decay * p, except in AdamW), a the learning rate:
//
//   adam     m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
//            p -= a/(1-b1^t) m / (sqrt(v/(1-b2^t)) + eps)             Kingma & Ba 2015
//   adamw    p *= 1 - a weight_decay, then as adam                    Loshchilov & Hutter 2019
//   rmsprop  v = d v + (1-d) g^2;
//            m = momentum m + g / (sqrt(v) + eps);  p -= a m          Hinton 2012
//   sgd      m = momentum m + g;  p -= a m
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "net/options.hpp"

namespace hotloop {

// Euclidean norm; the order of additions depends only on the size.
float euclidean_norm(std::span<const float> values);

// Fewer parameters are left to one thread: 5 us of optimiser time.
inline constexpr std::size_t kMinSharedParameters = 1 << 15;
inline constexpr std::size_t kParameterPart = 1 << 12;  // what a thread takes at a time

// Calls body(first, last) for parts of [0, size), on all threads if there is enough to do. The body
// must treat each parameter independently. A thread gets the same parts each time, and about those
// whose gradient it computed: they are in its cache.
template <class Body>
void share_parameters(std::size_t size, ThreadTeam& team, Body&& body) {
  if (size < kMinSharedParameters) return body(0, size);
  team.run(static_cast<int>((size + kParameterPart - 1) / kParameterPart),
           [&](int first, int last, int) {
             body(first * kParameterPart, std::min(last * kParameterPart, size));
           });
}

// The factor that brings a gradient of this norm down to `clip_norm` (1 if it is below, or if
// clipping is off).
float clip_factor(float norm, float clip_norm);

class Optimiser {
 public:
  Optimiser(const OptimiserOptions& options, std::size_t size);

  void step(std::span<float> parameters, std::span<const float> gradient, float learning_rate,
            float gradient_scale, ThreadTeam& team);

  const OptimiserOptions& options() const { return options_; }

  // Everything a checkpoint needs.
  std::span<float> first() { return first_; }
  std::span<float> second() { return second_; }
  std::span<double> powers() { return powers_; }

 private:
  // Factors of a step that are the same for all parameters.
  struct Step {
    float learning_rate, gradient_scale;
    float size, root_scale;  // adam's a/(1-b1^t) and 1/sqrt(1-b2^t)
  };
  void step_part(const Step& step, std::size_t first, std::size_t last, float* parameters,
                 const float* gradient);

  OptimiserOptions options_;
  Arena arena_;
  std::span<float> first_, second_;
  std::array<double, 2> powers_ = {1, 1};  // beta1^t, beta2^t
};

}  // namespace hotloop
