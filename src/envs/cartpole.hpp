// CartPole-v1: balance a pole on a cart by pushing left (0) or right (1).
//
// Equal to Gymnasium's CartPole-v1: Barto, Sutton & Anderson (1983) without friction, explicit
// Euler at 0.02 s, state in double, observation in float32, reward 1 on every step including the
// last, terminated when |x| > 2.4 or |theta| > 12 degrees, truncated after 500 steps.
//
// The single world and the batch share one inline physics function without branches or calls, so
// the compiler vectorises the batch and both give the same bits (FP contraction must be off).
#pragma once

#include <hotloop/env.hpp>

#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

#include "envs/sin_cos.hpp"

namespace hotloop {

struct CartPole {
  static constexpr EnvSpec spec{.name = "cartpole",
                                .obs = 4,
                                .actions = 2,
                                .max_steps = 500,
                                .solved_return = 475,
                                .parts = {{{"cart", {2}}, {"pole", {2}}}},
                                .about = "balance a pole on a cart (Gymnasium's CartPole-v1)"};

  static constexpr double kGravity = 9.8;
  static constexpr double kPoleMass = 0.1;
  static constexpr double kTotalMass = 0.1 + 1.0;
  static constexpr double kHalfLength = 0.5;
  static constexpr double kPoleMassLength = kPoleMass * kHalfLength;
  static constexpr double kForce = 10.0;
  static constexpr double kTimeStep = 0.02;
  static constexpr double kMaxX = 2.4;
  static constexpr double kMaxTheta = 12 * 2 * std::numbers::pi / 360;

  double x = 0, x_dot = 0, theta = 0, theta_dot = 0;

  // One Euler step, with Gymnasium's order of operations. No world is stepped from beyond 12
  // degrees, so the sine and cosine for small angles are enough.
  inline void advance(int action);
  inline bool fallen() const;

  inline void reset(Rng& rng);
  inline void observe(std::span<float> obs) const;
  inline Step step(int action, Rng&);
  inline bool is_valid() const;
  Picture picture() const;  // classic_pictures.cpp

  struct Batch;
};

// N CartPoles as a structure of arrays.
struct CartPole::Batch {
  std::vector<double> x, x_dot, theta, theta_dot;  // [N] each

  void resize(int count);
  CartPole get(int row) const { return {x[row], x_dot[row], theta[row], theta_dot[row]}; }
  void set(int row, const CartPole& world);
  void step(int begin, int end, std::span<const std::int32_t> actions, std::span<float> rewards,
            std::span<std::uint8_t> terminated);
  void observe(int begin, int end, std::span<float> obs) const;
};

inline void CartPole::advance(int action) {
  const double force = action == 1 ? kForce : -kForce;
  const auto [sin, cos] = sin_cos_near_zero(theta);
  const double temp = (force + kPoleMassLength * (theta_dot * theta_dot) * sin) / kTotalMass;
  const double theta_acc = (kGravity * sin - cos * temp) /
                           (kHalfLength * (4.0 / 3.0 - kPoleMass * (cos * cos) / kTotalMass));
  const double x_acc = temp - kPoleMassLength * theta_acc * cos / kTotalMass;
  x = x + kTimeStep * x_dot;
  x_dot = x_dot + kTimeStep * x_acc;
  theta = theta + kTimeStep * theta_dot;
  theta_dot = theta_dot + kTimeStep * theta_acc;
}

// Bitwise "or": four comparisons without a branch.
inline bool CartPole::fallen() const {
  return (x < -kMaxX) | (x > kMaxX) | (theta < -kMaxTheta) | (theta > kMaxTheta);
}

// The last state of an episode is a little beyond the bounds. Speeds are far below 1000.
inline bool CartPole::is_valid() const {
  return std::abs(x) <= 2 * kMaxX && std::abs(theta) <= kEighthTurn && std::abs(x_dot) <= 1000 &&
         std::abs(theta_dot) <= 1000;
}

inline void CartPole::reset(Rng& rng) {
  x = rng.uniform(-0.05, 0.05);
  x_dot = rng.uniform(-0.05, 0.05);
  theta = rng.uniform(-0.05, 0.05);
  theta_dot = rng.uniform(-0.05, 0.05);
}

inline void CartPole::observe(std::span<float> obs) const {
  obs[0] = static_cast<float>(x);
  obs[1] = static_cast<float>(x_dot);
  obs[2] = static_cast<float>(theta);
  obs[3] = static_cast<float>(theta_dot);
}

inline Step CartPole::step(int action, Rng&) {
  assert(std::abs(theta) <= kEighthTurn);
  advance(action);
  return {1.0f, fallen()};
}

}  // namespace hotloop
