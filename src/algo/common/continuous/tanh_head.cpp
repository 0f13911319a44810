#include "algo/common/continuous/tanh_head.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hotloop {

const float* TanhHead::compute_preferences(const PolicyLanes& lanes, float* scratch) const {
  if (!has_std_) return lanes.outputs;
  const int means = range_.size * kLanes;
  std::copy_n(lanes.outputs, means, scratch);
  std::transform(lanes.outputs + means, lanes.outputs + 2 * means, scratch + means,
                 [](float l) { return std::clamp(l, kMinSquashedLogStd, kMaxSquashedLogStd); });
  return scratch;
}

void TanhHead::choose(const PolicyLanes& lanes, const float* preferences, std::size_t first,
                      const Draws* draws, Actions& actions) const {
  std::array<float, kMaxActionSize> squashed;
  for (int row = 0; row < lanes.rows; ++row) {
    const std::size_t place = first + row;
    const float* means = preferences + row;
    const float* log_stds = means + range_.size * kLanes;
    Rng rng(draws == nullptr ? 0 : draws->seed, Purpose::exploration,
            static_cast<std::uint32_t>(place), draws == nullptr ? 0 : draws->step);
    for (int i = 0; i < range_.size; ++i) {
      float u = means[i * kLanes];
      if (draws != nullptr && has_std_) {
        u += std::exp(log_stds[i * kLanes]) * static_cast<float>(rng.normal());
      }
      squashed[i] = std::tanh(u);
    }
    range_.to_env(squashed.data(), 1, &actions.continuous[place * range_.size]);
  }
}

}  // namespace hotloop
