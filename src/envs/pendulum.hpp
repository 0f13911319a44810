// Pendulum-v1: swing a pendulum up and hold it there with a torque in [-2, 2].
//
// Equal to Gymnasium's Pendulum-v1: state (angle from upright, not wrapped, and speed) in double,
// torque clipped and multiplied in float32, observation (cos, sin, speed) in float32,
// reward -(angle^2 + 0.1 speed^2 + 0.001 torque^2) of the state before the step with the angle
// wrapped into [-pi, pi], never terminated, truncated after 200 steps.
//
// The single world and the batch share one inline physics function without branches or calls.
#pragma once

#include <hotloop/env.hpp>

#include <numbers>
#include <vector>

#include "envs/sin_cos.hpp"

namespace hotloop {

struct Pendulum {
  static constexpr EnvSpec spec{.name = "pendulum",
                                .obs = 3,
                                .action_size = 1,
                                .action_low = {-2},
                                .action_high = {2},
                                .max_steps = 200,
                                .parts = {{{"angle", {2}}, {"speed", {1}}}},
                                .about = "swing a pendulum up (Gymnasium's Pendulum-v1)"};

  static constexpr double kGravity = 10.0;
  static constexpr double kMass = 1.0;
  static constexpr double kLength = 1.0;
  static constexpr double kTimeStep = 0.05;
  static constexpr double kMaxSpeed = 8;
  static constexpr float kMaxTorque = 2;

  double angle = 0, speed = 0;

  // One step, with Gymnasium's order of operations. Returns the reward.
  inline double advance(float action);

  inline void reset(Rng& rng);
  inline void observe(std::span<float> obs) const;
  inline Step step(std::span<const float> action, Rng&);
  bool is_valid() const {  // sin_cos needs angles up to 1e6
    return angle >= -1e6 && angle <= 1e6 && speed >= -kMaxSpeed && speed <= kMaxSpeed;
  }
  Picture picture() const;  // classic_pictures.cpp

  struct Batch;
};

// N Pendulums as a structure of arrays.
struct Pendulum::Batch {
  std::vector<double> angle, speed;  // [N] each

  void resize(int count);
  Pendulum get(int row) const { return {angle[row], speed[row]}; }
  void set(int row, const Pendulum& world);
  void step(int begin, int end, std::span<const float> actions, std::span<float> rewards,
            std::span<std::uint8_t> terminated);
  void observe(int begin, int end, std::span<float> obs) const;
};

inline double Pendulum::advance(float action) {
  float torque = action < -kMaxTorque ? -kMaxTorque : action;
  torque = torque > kMaxTorque ? kMaxTorque : torque;
  const double upright = wrapped_angle(angle);
  const double effort = static_cast<double>(0.001f * (torque * torque));
  const double cost = upright * upright + 0.1 * (speed * speed) + effort;

  constexpr auto kTorqueFactor = static_cast<float>(3.0 / (kMass * kLength * kLength));
  const double push = static_cast<double>(kTorqueFactor * torque);
  const double pull = 3 * kGravity / (2 * kLength) * sin_cos(angle).sin;
  speed = clamped(speed + (pull + push) * kTimeStep, -kMaxSpeed, kMaxSpeed);
  angle = angle + speed * kTimeStep;
  return -cost;
}

inline void Pendulum::reset(Rng& rng) {
  angle = rng.uniform(-std::numbers::pi, std::numbers::pi);
  speed = rng.uniform(-1, 1);
}

inline void Pendulum::observe(std::span<float> obs) const {
  const auto [sin, cos] = sin_cos(angle);
  obs[0] = static_cast<float>(cos);
  obs[1] = static_cast<float>(sin);
  obs[2] = static_cast<float>(speed);
}

inline Step Pendulum::step(std::span<const float> action, Rng&) {
  return {static_cast<float>(advance(action[0])), false};
}

}  // namespace hotloop
