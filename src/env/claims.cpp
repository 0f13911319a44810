#include "env/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hotloop {
namespace {

std::string range_problem(std::string_view what, int value, int low, int high) {
  if (value >= low && value <= high) return "";
  return fmt::format("{} is {}; allowed: {} to {}", what, value, low, high);
}

std::string bounds_problem(const EnvSpec& spec) {
  for (int i = 0; i < spec.action_size; ++i) {
    const float low = spec.action_low[i], high = spec.action_high[i];
    if (std::isfinite(low) && std::isfinite(high) && low < high) continue;
    return fmt::format(
        "action value {} has bounds {} to {}; bounds must be finite, and the lower one first", i,
        low, high);
  }
  return "";
}

std::string parts_problem(const EnvSpec& spec) {
  std::int64_t values = 0;  // of all parts; up to obs
  for (std::size_t i = 0; i < spec.parts.size() && !spec.parts[i].name.empty(); ++i) {
    std::int64_t size = 1;
    for (const int extent : spec.parts[i].shape) {
      const std::string problem =
          range_problem(fmt::format("parts[{}].shape", i), extent, 0, spec.obs);
      if (!problem.empty()) return problem;
      size = std::min<std::int64_t>(size * std::max(extent, 1), kMaxWidth + 1);
    }
    values += size;
  }
  if (spec.parts[0].name.empty() || values == spec.obs) return "";
  return fmt::format("the parts of the observation have {} values; obs is {}", values, spec.obs);
}

}  // namespace

std::string spec_problem(const EnvSpec& spec) {
  const bool discrete = spec.actions != 0;
  for (const std::string& problem :
       {range_problem("obs", spec.obs, 1, kMaxWidth),
        range_problem("actions", spec.actions, 0, kMaxWidth),
        range_problem("action_size", spec.action_size, discrete ? 0 : 1,
                      discrete ? 0 : kMaxActionSize),
        range_problem("max_steps", spec.max_steps, 0, std::numeric_limits<int>::max())}) {
    if (!problem.empty()) return problem;
  }
  const std::string problem = bounds_problem(spec);
  return problem.empty() ? parts_problem(spec) : problem;
}

}  // namespace hotloop
