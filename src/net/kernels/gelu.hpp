// GELU (Hendrycks and Gimpel 2016): x Phi(x), where Phi is the distribution function of the
// standard normal, and its slope, for eight numbers at a time.
//
// Both come from one exponential: Phi(-a) = exp(-a^2 / 2) P(t), a >= 0, t = 1 / (1 + 0.28 a), where
// the polynomial P of degree 6 is a minimax fit: the largest error of Phi is 1e-8, a sixth of the
// resolution of a float near 1.
#pragma once

#include <numbers>

#include "core/cpu/vec_maths.hpp"

namespace hotloop {

struct Gelu {
  Vec value, slope;
};

// NaN stays NaN.
inline Gelu gelu(Vec x) {
  constexpr float kFar = 13;  // Phi(-a) is negligible from here on
  constexpr float kInvSqrtTwoPi =
      std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float> / 2;
  const Vec near = x > kFar ? broadcast(kFar) : x < -kFar ? broadcast(-kFar) : x;
  const Vec a = near < 0 ? -near : near;
  const Vec bell = exp2_of(-0.5f * std::numbers::log2e_v<float> * a * a);
  const Vec t = 1.0f / multiply_add(broadcast(0.28f), a, broadcast(1));
  const Vec p = polynomial(
      t, {-0.10580761f, 0.38987146f, -0.23698941f, 0.26890695f, 0.067498018f, 0.11652058f, 0.0f});
  const Vec tail = bell * p;  // Phi(-a)
  const Vec distribution = x > 0 ? 1.0f - tail : tail;
  return {(x > 0 ? x : Vec{}) - a * tail, distribution + kInvSqrtTwoPi * near * bell};
}

}  // namespace hotloop
