// A number that changes over training: a pure function of the training progress, so it never needs
// saving.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace hotloop {

// A wave is a cosine that repeats.
enum class ScheduleKind { constant, linear, linear_to_zero, exponential, step, cosine, wave };
inline constexpr std::array<std::string_view, 7> kScheduleNames = {
    "constant", "linear", "linear_to_zero", "exponential", "step", "cosine", "wave"};

// The unit of a schedule or a period.
enum class Count { steps, updates, episodes };
inline constexpr std::array<std::string_view, 3> kCountNames = {"steps", "updates", "episodes"};

// The training progress.
struct Progress {
  std::int64_t env_steps = 0;
  std::int64_t updates = 0;
  std::int64_t episodes = 0;

  std::int64_t in(Count count) const {
    return count == Count::steps ? env_steps : count == Count::updates ? updates : episodes;
  }
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double from = 0;         // initial value
  double to = 0;           // final value, step: minimum; unused by constant and linear_to_zero
  std::int64_t over = 1;   // duration in units of `count`; unused by constant and step
  double factor = 1;       // step: multiplies the value ...
  std::int64_t every = 1;  // step: ... every this many units
  std::int64_t after = 0;  // units before it begins to change
  Count count = Count::steps;

  bool operator==(const Schedule&) const = default;
  double at(const Progress& progress) const {
    const std::int64_t now = std::max<std::int64_t>(0, progress.in(count)-after);
    const double share = std::clamp(static_cast<double>(now) / static_cast<double>(over), 0.0, 1.0);
    switch (kind) {
      case ScheduleKind::constant:
        return from;
      case ScheduleKind::linear:
        return from + share * (to - from);
      case ScheduleKind::linear_to_zero:
        return from * (1 - share);
      case ScheduleKind::exponential:  // a constant factor per unit; both ends must be positive
        return from * std::pow(to / from, share);
      case ScheduleKind::step:
        return std::max(to, from * std::pow(factor, static_cast<double>(now / every)));
      case ScheduleKind::cosine:
        return to + (from - to) * 0.5 * (1 + std::cos(share * std::numbers::pi));
      case ScheduleKind::wave:
        return to + (from - to) * 0.5 *
                        (1 + std::cos(static_cast<double>(now) / static_cast<double>(over) *
                                      std::numbers::pi));
    }
    return from;
  }
};

constexpr Schedule constant(double value) { return {.from = value, .to = value}; }
constexpr Schedule linear(double from, double to, std::int64_t over) {
  return {.kind = ScheduleKind::linear, .from = from, .to = to, .over = over};
}

}  // namespace hotloop
