// The slow twin of src/envs/mountaincar_continuous: the rules of MountainCarContinuous-v0 for one
// world, in real float32 where NumPy 2 computes in float32. The first step after a reset is in
// double. An action out of bounds becomes the bound, a double; other actions stay float32.
#pragma once

#include <algorithm>
#include <cmath>

namespace hotloop::reference {

struct MountainCarContinuous {
  double position = 0, velocity = 0;
  bool fresh = true;
  double reward = 0;  // of the last step

  // Returns whether the episode is over.
  bool step(float action) {
    const bool over = fresh ? step_in<double>(action) : step_in<float>(action);
    fresh = false;
    reward = (over ? 100.0 : 0.0) - 0.1 * std::pow(static_cast<double>(action), 2);
    return over;
  }

 private:
  template <class Real>
  bool step_in(float action) {
    auto x = static_cast<Real>(position);
    auto v = static_cast<Real>(velocity);
    const double gravity = 0.0025 * std::cos(static_cast<double>(3 * x));
    if (action > 1) {
      v += static_cast<Real>(0.0015 - gravity);
    } else if (action < -1) {
      v += static_cast<Real>(-0.0015 - gravity);
    } else {
      v += static_cast<Real>(action * 0.0015f - static_cast<float>(gravity));
    }
    v = std::clamp(v, Real(-0.07), Real(0.07));
    x = std::clamp(x + v, Real(-1.2), Real(0.6));
    if (x == Real(-1.2) && v < 0) v = 0;
    position = static_cast<float>(x);
    velocity = static_cast<float>(v);
    return x >= Real(0.45) && v >= 0;
  }
};

}  // namespace hotloop::reference
