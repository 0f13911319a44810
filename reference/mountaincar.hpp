// The slow twin of src/envs/mountaincar: MountainCar-v0's rules as published, one world, the C
// library's cosine.
#pragma once

#include <algorithm>
#include <cmath>

namespace hotloop::reference {

struct MountainCar {
  double position = 0, velocity = 0;

  // Returns whether the episode is over.
  bool step(int action) {
    velocity += (action - 1) * 0.001 - 0.0025 * std::cos(3 * position);
    velocity = std::clamp(velocity, -0.07, 0.07);
    position = std::clamp(position + velocity, -1.2, 0.6);
    if (position == -1.2 && velocity < 0) velocity = 0;
    return position >= 0.5 && velocity >= 0;
  }
};

}  // namespace hotloop::reference
