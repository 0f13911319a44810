// The slow twin of src/envs/cartpole: CartPole-v1's equations as published, one world, the C
// library's sine and cosine.
#pragma once

#include <cmath>

namespace hotloop::reference {

struct CartPole {
  double x = 0, x_dot = 0, theta = 0, theta_dot = 0;

  // Returns whether the episode is over.
  bool step(int action) {
    const double gravity = 9.8, mass_cart = 1.0, mass_pole = 0.1, half_length = 0.5, tau = 0.02;
    const double total_mass = mass_pole + mass_cart;
    const double force = action == 1 ? 10.0 : -10.0;
    const double temp =
        (force + mass_pole * half_length * std::pow(theta_dot, 2) * std::sin(theta)) / total_mass;
    const double theta_acc =
        (gravity * std::sin(theta) - std::cos(theta) * temp) /
        (half_length * (4.0 / 3.0 - mass_pole * std::pow(std::cos(theta), 2) / total_mass));
    const double x_acc = temp - mass_pole * half_length * theta_acc * std::cos(theta) / total_mass;
    x += tau * x_dot;
    x_dot += tau * x_acc;
    theta += tau * theta_dot;
    theta_dot += tau * theta_acc;
    const double max_theta = 12 * 2 * 3.14159265358979323846 / 360;
    return x < -2.4 || x > 2.4 || theta < -max_theta || theta > max_theta;
  }
};

}  // namespace hotloop::reference
