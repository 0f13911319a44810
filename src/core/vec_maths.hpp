// Powers and logarithms of two, eight at a time: polynomials fitted so that the largest error is
// smallest, fewer steps than functions that answer for every number.
#pragma once

#include <cstdint>

#include "core/vec.hpp"

namespace hotloop {

using VecBits = std::int32_t __attribute__((vector_size(32)));

// (c0 x + c1) x + ...
template <int kCount>
inline Vec polynomial(Vec x, const float (&coefficients)[kCount]) {
  Vec sum = broadcast(coefficients[0]);
  for (int i = 1; i < kCount; ++i) sum = multiply_add(sum, x, broadcast(coefficients[i]));
  return sum;
}

// 2^y: 2^n 2^f, n whole and |f| <= 1/2, with a relative error of 1.2e-7. y counts as within
// [-126, 127]; not a number stays one.
inline Vec exp2_of(Vec y) {
  constexpr float kRound = 0x1.8p23f;  // a sum with it ends in the nearest whole number
  y = y < -126 ? broadcast(-126) : y > 127 ? broadcast(127) : y;
  const Vec shifted = y + kRound;
  const Vec power =
      polynomial(y - (shifted - kRound), {1.53533642e-4f, 1.33988811e-3f, 9.6184374e-3f,
                                          5.55033246e-2f, 0.240226479f, 0.693147203f, 1.0f});
  return reinterpret_cast<Vec>(reinterpret_cast<VecBits>(power) +
                               (reinterpret_cast<VecBits>(shifted) << 23));
}

// log2(x) for x > 0: e + log2(1 + f), 1 + f within [sqrt(1/2), sqrt(2)], with an absolute error of 1e-7,
// or of half the last bit where that is more. 0 counts as 2^-127, infinity as 2^128.
inline Vec log2_of(Vec x) {
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;  // as bits
  const VecBits bits = reinterpret_cast<VecBits>(x);
  const VecBits exponent = (bits - kSqrtHalf) >> 23;
  const Vec f = reinterpret_cast<Vec>(bits - (exponent << 23)) - 1.0f;
  const Vec log =
      f * polynomial(f, {0.125413573f, -0.210306017f, 0.217380205f, -0.238519091f, 0.287656548f,
                         -0.360721209f, 0.480922534f, -0.721347128f, 1.44269487f});
  return __builtin_convertvector(exponent, Vec) + log;
}

}  // namespace hotloop
