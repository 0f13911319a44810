// A number that changes over training: a pure function of the step, so it never needs saving.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace hotloop {

enum class ScheduleKind { constant, linear, exponential, cosine };
inline constexpr std::array<std::string_view, 4> kScheduleNames = {"constant", "linear",
                                                                   "exponential", "cosine"};

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double from = 0;        // value at step 0
  double to = 0;          // value from step `over` on
  std::int64_t over = 1;  // env steps

  double at(std::int64_t step) const {
    const double share =
        std::clamp(static_cast<double>(step) / static_cast<double>(over), 0.0, 1.0);
    switch (kind) {
      case ScheduleKind::constant:
        return from;
      case ScheduleKind::linear:
        return from + share * (to - from);
      case ScheduleKind::exponential:  // a constant factor per step; both ends must be positive
        return from * std::pow(to / from, share);
      case ScheduleKind::cosine:
        return to + (from - to) * 0.5 * (1 + std::cos(share * 3.14159265358979323846));
    }
    return from;
  }
};

}  // namespace hotloop
