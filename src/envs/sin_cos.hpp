// Sine and cosine in double precision, inline, without a branch or a call: the compiler vectorises
// loops that use them, with the same bits as a single evaluation (FP contraction must be off).
//
// The argument is reduced by the nearest multiple of pi/2, which is subtracted in three pieces
// (Cody & Waite, 1980): the first two have 33 bits, so that their products with a count below 2^20
// are exact. The remainder goes through the Taylor series. Within two ulps for |a| <= 1e6.
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

namespace hotloop {

struct SinCos {
  double sin, cos;
};

inline constexpr double kEighthTurn = std::numbers::pi / 4;

// For |a| <= kEighthTurn. Sums the series from the smallest term. Within an ulp.
inline SinCos sin_cos_near_zero(double a) {
  // 1/n!. The first omitted term is below 6e-17 of the result over the whole range.
  constexpr double f2 = 1.0 / 2, f3 = f2 / 3, f4 = 1.0 / 24, f5 = 1.0 / 120, f6 = 1.0 / 720;
  constexpr double f7 = 1.0 / 5040, f8 = 1.0 / 40320, f9 = 1.0 / 362880, f10 = 1.0 / 3628800;
  constexpr double f11 = 1.0 / 39916800, f12 = 1.0 / 479001600, f13 = 1.0 / 6227020800;
  constexpr double f14 = 1.0 / 87178291200, f15 = 1.0 / 1307674368000;
  constexpr double f16 = 1.0 / 20922789888000;
  const double s = a * a;
  const double sin_tail = f3 - s * (f5 - s * (f7 - s * (f9 - s * (f11 - s * (f13 - s * f15)))));
  const double cos_tail = f4 - s * (f6 - s * (f8 - s * (f10 - s * (f12 - s * (f14 - s * f16)))));
  return {a - a * s * sin_tail, 1.0 - s * (f2 - s * cos_tail)};
}

// Adding this to a double of modest size leaves the nearest integer in the lowest bits of the sum.
inline constexpr double kRounder = 0x1.8p52;

inline SinCos sin_cos(double a) {
  constexpr double kHigh = 0x1.921fb544p0, kMiddle = 0x1.0b4611a6p-34;
  constexpr double kLow = 0x1.3198a2e037073p-69;
  const double shifted = a * (2 / std::numbers::pi) + kRounder;
  const double turns = shifted - kRounder;  // quarter turns
  const SinCos rest = sin_cos_near_zero(((a - turns * kHigh) - turns * kMiddle) - turns * kLow);

  // An odd number of quarter turns swaps sine and cosine. The sign is the second lowest bit of the
  // number (of the number plus one for the cosine).
  const auto quadrant = std::bit_cast<std::uint64_t>(shifted);
  const auto sin = std::bit_cast<std::uint64_t>(rest.sin);
  const auto cos = std::bit_cast<std::uint64_t>(rest.cos);
  const std::uint64_t swapped = (sin ^ cos) & (0 - (quadrant & 1));
  return {std::bit_cast<double>((sin ^ swapped) ^ ((quadrant & 2) << 62)),
          std::bit_cast<double>((cos ^ swapped) ^ (((quadrant + 1) & 2) << 62))};
}

// Wraps into [-pi, pi] by subtracting a multiple of the double nearest to 2 pi. For |a| <= 1e6.
inline double wrapped_angle(double a) {
  constexpr double kHigh = 0x1.921fb544p2, kLow = 2 * std::numbers::pi - kHigh;
  const double turns = (a * (0.5 / std::numbers::pi) + kRounder) - kRounder;
  return (a - turns * kHigh) - turns * kLow;
}

// Two selections in a row: the compiler makes no branch of them, as it does of std::clamp.
inline double clamped(double value, double low, double high) {
  const double raised = value < low ? low : value;
  return raised > high ? high : raised;
}

}  // namespace hotloop
