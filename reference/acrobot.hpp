// The slow twin of src/envs/acrobot: the equations of Sutton & Barto's book with all lengths and
// masses 1, and classical Runge-Kutta over a vector. One world, the C library's sine and cosine.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace hotloop::reference {

struct Acrobot {
  std::array<double, 4> state{};  // theta1, theta2, and their speeds

  // Returns whether the episode is over.
  bool step(int action) {
    const double pi = 3.14159265358979323846;
    const double dt = 0.2;
    const auto add = [this](double factor, const std::array<double, 4>& slope) {
      std::array<double, 4> sum = state;
      for (int i = 0; i < 4; ++i) sum[i] += factor * slope[i];
      return sum;
    };
    const auto k1 = slope(state, action - 1);
    const auto k2 = slope(add(dt / 2, k1), action - 1);
    const auto k3 = slope(add(dt / 2, k2), action - 1);
    const auto k4 = slope(add(dt, k3), action - 1);
    for (int i = 0; i < 4; ++i) state[i] += dt / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    for (int i = 0; i < 2; ++i) {
      while (state[i] > pi) state[i] -= 2 * pi;
      while (state[i] < -pi) state[i] += 2 * pi;
    }
    state[2] = std::clamp(state[2], -4 * pi, 4 * pi);
    state[3] = std::clamp(state[3], -9 * pi, 9 * pi);
    return -std::cos(state[0]) - std::cos(state[0] + state[1]) > 1;
  }

  static std::array<double, 4> slope(const std::array<double, 4>& s, double torque) {
    const double g = 9.8, half_pi = 3.14159265358979323846 / 2;
    const double d1 = 0.25 + (1.25 + std::cos(s[1])) + 2;
    const double d2 = 0.25 + 0.5 * std::cos(s[1]) + 1;
    const double phi2 = 0.5 * g * std::cos(s[0] + s[1] - half_pi);
    const double phi1 = -0.5 * std::pow(s[3], 2) * std::sin(s[1]) - s[3] * s[2] * std::sin(s[1]) +
                        1.5 * g * std::cos(s[0] - half_pi) + phi2;
    const double acc2 =
        (torque + d2 / d1 * phi1 - 0.5 * std::pow(s[2], 2) * std::sin(s[1]) - phi2) /
        (0.25 + 1 - std::pow(d2, 2) / d1);
    return {s[2], s[3], -(d2 * acc2 + phi1) / d1, acc2};
  }
};

}  // namespace hotloop::reference
