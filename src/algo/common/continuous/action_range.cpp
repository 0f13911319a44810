#include "algo/common/continuous/action_range.hpp"

#include <algorithm>

namespace hotloop {

ActionRange::ActionRange(const EnvSpec& env)
    : size(env.action_size), low(env.action_low), high(env.action_high) {
  for (int i = 0; i < size; ++i) {
    centre[i] = 0.5f * low[i] + 0.5f * high[i];
    half[i] = 0.5f * high[i] - 0.5f * low[i];
  }
}

void ActionRange::to_env(const float* a, int stride, float* action) const {
  for (int i = 0; i < size; ++i) {
    action[i] = std::clamp(centre[i] + half[i] * a[i * stride], low[i], high[i]);
  }
}

void ActionRange::from_env(std::span<const float> actions, std::span<float> a) const {
  for (std::size_t row = 0; row < actions.size(); row += size) {
    for (int i = 0; i < size; ++i) {
      a[row + i] = std::clamp((actions[row + i] - centre[i]) / half[i], -1.0f, 1.0f);
    }
  }
}

}  // namespace hotloop
