// A number that changes over training: a pure function of how far training has come, so it never
// needs saving.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace hotloop {

// A wave is a cosine that does not end.
enum class ScheduleKind { constant, linear, linear_to_zero, exponential, step, cosine, wave };
inline constexpr std::array<std::string_view, 7> kScheduleNames = {
    "constant", "linear", "linear_to_zero", "exponential", "step", "cosine", "wave"};

// What a schedule or a period counts.
enum class Count { steps, updates, episodes };
inline constexpr std::array<std::string_view, 3> kCountNames = {"steps", "updates", "episodes"};

// How far training has come.
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
  double from = 0;         // value at first
  double to = 0;           // value from `over` on, step: the least; not of constant, linear_to_zero
  std::int64_t over = 1;   // of what is counted; not of constant and step
  double factor = 1;       // step: multiplies the value ...
  std::int64_t every = 1;  // step: ... whenever this many of what is counted have passed
  std::int64_t after = 0;  // this many of what is counted pass before it begins to change
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
      case ScheduleKind::exponential:  // a constant factor per step; both ends must be positive
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
