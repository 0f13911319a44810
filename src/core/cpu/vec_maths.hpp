// exp2 and log2 for a vector of floats V: minimax polynomials, cheaper than library functions,
// which handle every input.
#pragma once

#include <cstdint>

#include "core/cpu/vec.hpp"

namespace hotloop {

// (c0 x + c1) x + ...
template <class V, int kCount>
inline V polynomial(V x, const float (&coefficients)[kCount]) {
  V sum = V{} + coefficients[0];
  for (int i = 1; i < kCount; ++i) sum = multiply_add(sum, x, V{} + coefficients[i]);
  return sum;
}

// 2^y = 2^n 2^f, n an integer and |f| <= 1/2, with a relative error of 1.2e-7. y is clamped to
// [-126, 127]; NaN stays NaN.
template <class V>
inline V exp2_of(V y) {
  using Bits = decltype(y < y);
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to the nearest integer
  y = y < -126 ? V{} - 126 : y > 127 ? V{} + 127 : y;
  const V shifted = y + kRound;
  const V power =
      polynomial(y - (shifted - kRound), {1.53533642e-4f, 1.33988811e-3f, 9.6184374e-3f,
                                          5.55033246e-2f, 0.240226479f, 0.693147203f, 1.0f});
  return reinterpret_cast<V>(reinterpret_cast<Bits>(power) +
                             (reinterpret_cast<Bits>(shifted) << 23));
}

// log2(x) for x > 0: e + log2(1 + f), 1 + f within [sqrt(1/2), sqrt(2)], with an absolute error of
// 1e-7, or of half the last bit if that is more. 0 counts as 2^-127, infinity as 2^128.
template <class V>
inline V log2_of(V x) {
  using Bits = decltype(x < x);
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;  // as bits
  const Bits bits = reinterpret_cast<Bits>(x);
  const Bits exponent = (bits - kSqrtHalf) >> 23;
  const V f = reinterpret_cast<V>(bits - (exponent << 23)) - 1.0f;
  const V log =
      f * polynomial(f, {0.125413573f, -0.210306017f, 0.217380205f, -0.238519091f, 0.287656548f,
                         -0.360721209f, 0.480922534f, -0.721347128f, 1.44269487f});
  return __builtin_convertvector(exponent, V) + log;
}

}  // namespace hotloop
