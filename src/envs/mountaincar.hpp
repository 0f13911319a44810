// MountainCar-v0: drive an underpowered car out of a valley by pushing left (0), not pushing (1) or
// pushing right (2).
//
// Equal to Gymnasium's MountainCar-v0: Moore (1990), state in double, observation in float32,
// reward -1 on every step including the last, an inelastic wall on the left, terminated when the
// car reaches 0.5 without rolling back, truncated after 200 steps.
//
// The single world and the batch share one inline physics function without branches or calls.
#pragma once

#include <hotloop/env.hpp>

#include <vector>

#include "envs/sin_cos.hpp"

namespace hotloop {

struct MountainCar {
  static constexpr EnvSpec spec{.name = "mountaincar",
                                .obs = 2,
                                .actions = 3,
                                .max_steps = 200,
                                .solved_return = -110,
                                .parts = {{{"position", {1}}, {"velocity", {1}}}},
                                .about = "rock a car out of a valley (Gymnasium's MountainCar-v0)"};

  static constexpr double kMinPosition = -1.2;
  static constexpr double kMaxPosition = 0.6;
  static constexpr double kMaxSpeed = 0.07;
  static constexpr double kGoal = 0.5;
  static constexpr double kForce = 0.001;
  static constexpr double kGravity = 0.0025;

  double position = 0, velocity = 0;

  // With Gymnasium's order of operations.
  inline void advance(int action);
  inline bool arrived() const { return (position >= kGoal) & (velocity >= 0); }

  inline void reset(Rng& rng);
  inline void observe(std::span<float> obs) const;
  inline Step step(int action, Rng&);
  bool is_valid() const {
    return position >= kMinPosition && position <= kMaxPosition && velocity >= -kMaxSpeed &&
           velocity <= kMaxSpeed;
  }
  Picture picture() const;  // classic_pictures.cpp

  struct Batch;
};

// N MountainCars as a structure of arrays.
struct MountainCar::Batch {
  std::vector<double> position, velocity;  // [N] each

  void resize(int count);
  MountainCar get(int row) const { return {position[row], velocity[row]}; }
  void set(int row, const MountainCar& world);
  void step(int begin, int end, std::span<const std::int32_t> actions, std::span<float> rewards,
            std::span<std::uint8_t> terminated);
  void observe(int begin, int end, std::span<float> obs) const;
};

inline void MountainCar::advance(int action) {
  const double push = static_cast<double>(action - 1) * kForce;
  const double v =
      clamped(velocity + (push + sin_cos(3 * position).cos * -kGravity), -kMaxSpeed, kMaxSpeed);
  const double x = position + v;
  const double slowest = x <= kMinPosition ? 0 : -kMaxSpeed;  // the wall stops the car
  velocity = v < slowest ? slowest : v;
  position = clamped(x, kMinPosition, kMaxPosition);
}

inline void MountainCar::reset(Rng& rng) {
  position = rng.uniform(-0.6, -0.4);
  velocity = 0;
}

inline void MountainCar::observe(std::span<float> obs) const {
  obs[0] = static_cast<float>(position);
  obs[1] = static_cast<float>(velocity);
}

inline Step MountainCar::step(int action, Rng&) {
  advance(action);
  return {-1.0f, arrived()};
}

}  // namespace hotloop
