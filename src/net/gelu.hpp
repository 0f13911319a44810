// GELU (Hendrycks and Gimpel 2016): x Phi(x), Phi being the distribution function of the standard
// normal, and its slope, for eight numbers at a time.
//
// Both come from one exponential: Phi(-a) = exp(-a^2 / 2) P(t), a >= 0, t = 1 / (1 + 0.28 a), where the
// polynomial P of degree 6 was fitted so that the largest error of Phi is smallest: 1e-8, a sixth of
// what a float resolves near 1.
#pragma once

#include <cstdint>
#include <numbers>

#include "net/vec.hpp"

namespace hotloop {

// exp(y) for y in [-87, 0], with a relative error of 2e-7: 2^n exp(f), n whole, |f| <= ln 2 / 2.
inline Vec exp_below_zero(Vec y) {
  using Bits = std::int32_t __attribute__((vector_size(32)));
  constexpr float kRound = 0x1.8p23f;  // added, it leaves the nearest whole number in the last bits
  constexpr float kLn2 = 0x1.62e4p-1f, kLn2Rest = 0x1.7f7d1cp-20f;  // the former has 15 bits
  const Vec shifted = multiply_add(y, broadcast(std::numbers::log2e_v<float>), broadcast(kRound));
  const Vec n = shifted - kRound;
  const Vec f = multiply_add(n, broadcast(-kLn2Rest), multiply_add(n, broadcast(-kLn2), y));
  Vec p = broadcast(1.3814541e-3f);
  for (const float c : {8.3687390e-3f, 4.1668390e-2f, 0.16666520f, 0.49999993f, 1.0f, 1.0f})
    p = multiply_add(p, f, broadcast(c));
  return reinterpret_cast<Vec>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23));
}

struct Gelu {
  Vec value, slope;
};

// Not a number stays one.
inline Gelu gelu(Vec x) {
  constexpr float kFar = 13;  // there is nothing left of Phi(-a) from here on
  constexpr float kInvSqrtTwoPi =
      std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float> / 2;
  const Vec near = x > kFar ? broadcast(kFar) : x < -kFar ? broadcast(-kFar) : x;
  const Vec a = near < 0 ? -near : near;
  const Vec bell = exp_below_zero(-0.5f * a * a);
  const Vec t = 1.0f / multiply_add(broadcast(0.28f), a, broadcast(1));
  Vec p = broadcast(-0.10580761f);
  for (const float c : {0.38987146f, -0.23698941f, 0.26890695f, 0.067498018f, 0.11652058f, 0.0f})
    p = multiply_add(p, t, broadcast(c));
  const Vec tail = bell * p;  // Phi(-a)
  const Vec distribution = x > 0 ? 1.0f - tail : tail;
  return {(x > 0 ? x : Vec{}) - a * tail, distribution + kInvSqrtTwoPi * near * bell};
}

}  // namespace hotloop
