#include "algo/dqn/munchausen.hpp"

#include <algorithm>
#include <limits>
#include <numbers>

#include "core/cpu/vec_maths.hpp"
#include "net/lanes.hpp"

namespace hotloop {

const float* allowed_values(const float* q, int actions, int rows, const std::uint8_t* masks,
                            float* scratch) {
  if (masks == nullptr) return q;
  for (int a = 0; a < actions; ++a)
    std::copy_n(q + a * kLanes, round_up(rows, kLaneStep), scratch + a * kLanes);
  for (int row = 0; row < rows; ++row) {
    for (int a = 0; a < actions; ++a) {
      if (masks[row * actions + a] == 0)
        scratch[a * kLanes + row] = -std::numeric_limits<float>::infinity();
    }
  }
  return scratch;
}

void soft_values(int actions, int width, float temperature, const float* q, float* values) {
  const float per_octave = temperature * std::numbers::ln2_v<float>;
  for (int lane = 0; lane < width; lane += kVec) {
    Vec largest = load(q + lane);
    for (int a = 1; a < actions; ++a) {
      const Vec value = load(q + a * kLanes + lane);
      largest = largest < value ? value : largest;
    }
    Vec sum = {};
    for (int a = 0; a < actions; ++a)
      sum += exp2_of((load(q + a * kLanes + lane) - largest) / per_octave);
    store(values + lane, largest + per_octave * log2_of(sum));
  }
}

void munchausen_bonus(const Munchausen& options, int actions, int rows, int width, const float* q,
                      const std::int32_t* taken, float* bonus) {
  soft_values(actions, width, options.temperature, q, bonus);
  for (int row = 0; row < rows; ++row) {
    const float log_policy = q[taken[row] * kLanes + row] - bonus[row];  // times the temperature
    bonus[row] = options.alpha * std::clamp(log_policy, options.clip, 0.0f);
  }
}

}  // namespace hotloop
