// Agents with continuous actions act in [-1, 1] in each dimension; the environment receives
// centre + half * a.
#pragma once

#include <array>
#include <span>

#include <hotloop/env_spec.hpp>

namespace hotloop {

struct ActionRange {
  int size = 0;  // dimensions
  std::array<float, kMaxActionSize> low{}, high{}, centre{}, half{};

  explicit ActionRange(const EnvSpec& env);

  // One action: a [size], `stride` apart, to the environment's units and within its bounds.
  void to_env(const float* a, int stride, float* action) const;
  // Rows [N, size] from the environment's units.
  void from_env(std::span<const float> actions, std::span<float> a) const;
};

}  // namespace hotloop
