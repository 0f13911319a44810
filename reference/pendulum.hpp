// The slow twin of src/envs/pendulum: Pendulum-v1's equations as published, one world, the C
// library's sine and modulus.
#pragma once

#include <algorithm>
#include <cmath>

namespace hotloop::reference {

struct Pendulum {
  double angle = 0, speed = 0;

  // Returns the reward.
  double step(float action) {
    const double pi = 3.14159265358979323846;
    const float torque = std::clamp(action, -2.0f, 2.0f);
    double turned = std::fmod(angle + pi, 2 * pi);
    if (turned < 0) turned += 2 * pi;
    const double cost = std::pow(turned - pi, 2) + 0.1 * std::pow(speed, 2) +
                        static_cast<double>(0.001f * (torque * torque));
    const double pull = 3 * 10.0 / 2 * std::sin(angle) + static_cast<double>(3 * torque);
    speed = std::clamp(speed + pull * 0.05, -8.0, 8.0);
    angle += speed * 0.05;
    return -cost;
  }
};

}  // namespace hotloop::reference
