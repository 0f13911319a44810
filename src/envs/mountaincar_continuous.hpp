// MountainCarContinuous-v0: drive an underpowered car out of a valley with a force in [-1, 1].
//
// Equal to Gymnasium's MountainCarContinuous-v0: reward -0.1 a^2 (of the action before
// clipping) and 100 more on arrival at 0.45, an inelastic wall on the left, truncated after 999
// steps.
//
// Precision is part of the original: a reset leaves the state in double, but each step stores it in
// float32 and, under NumPy 2, float32 state makes float32 arithmetic. Here the state is always a
// double, rounded to float where the original works in float32: one operation in double, rounded,
// equals the operation in float32.
#pragma once

#include <hotloop/env.hpp>

#include <vector>

#include "envs/sin_cos.hpp"

namespace hotloop {

struct MountainCarContinuous {
  static constexpr EnvSpec spec{
      .name = "mountaincar_continuous",
      .obs = 2,
      .action_size = 1,
      .action_low = {-1},
      .action_high = {1},
      .max_steps = 999,
      .solved_return = 90,
      .parts = {{{"position", {1}}, {"velocity", {1}}}},
      .about = "rock a car out of a valley, gently (Gymnasium's MountainCarContinuous-v0)"};

  static constexpr double kMinPosition = -1.2;
  static constexpr double kMaxPosition = 0.6;
  static constexpr double kMaxSpeed = 0.07;
  static constexpr double kGoal = 0.45;
  static constexpr double kPower = 0.0015;
  static constexpr double kGravity = 0.0025;

  double position = 0, velocity = 0;
  std::int64_t fresh = 1;  // 1 until the first step after a reset: arithmetic in double

  // With Gymnasium's order of operations.
  inline void advance(float action);
  inline bool arrived() const;
  static inline float reward(float action, bool arrived);

  inline void reset(Rng& rng);
  inline void observe(std::span<float> obs) const;
  inline Step step(std::span<const float> action, Rng&);
  bool is_valid() const {  // the bounds may be rounded to float
    constexpr double kRounding = 1e-6;
    return position >= kMinPosition - kRounding && position <= kMaxPosition + kRounding &&
           velocity >= -kMaxSpeed - kRounding && velocity <= kMaxSpeed + kRounding &&
           (fresh == 0 || fresh == 1);
  }
  Picture picture() const;  // classic_pictures.cpp

  struct Batch;

 private:
  static constexpr double single(double value) { return static_cast<float>(value); }
};

// N MountainCarContinuous as a structure of arrays.
struct MountainCarContinuous::Batch {
  std::vector<double> position, velocity;  // [N] each
  std::vector<std::int64_t> fresh;         // [N], as wide as the doubles

  void resize(int count);
  MountainCarContinuous get(int row) const { return {position[row], velocity[row], fresh[row]}; }
  void set(int row, const MountainCarContinuous& world);
  void step(int begin, int end, std::span<const float> actions, std::span<float> rewards,
            std::span<std::uint8_t> terminated);
  void observe(int begin, int end, std::span<float> obs) const;
};

inline void MountainCarContinuous::advance(float action) {
  const bool exact = fresh != 0;
  const auto rounded = [exact](double value) { return exact ? value : single(value); };

  // An action out of bounds is replaced by the bound, a double. Other actions stay float32.
  const double a = static_cast<double>(action);
  const bool clipped = (a < -1) | (a > 1);
  const double gravity = kGravity * sin_cos(rounded(3 * position)).cos;
  const double by_bound = (a < 0 ? -kPower : kPower) - gravity;
  const double by_float = single(single(a * single(kPower)) - single(gravity));

  const double v = clamped(rounded(velocity + rounded(clipped ? by_bound : by_float)),
                           rounded(-kMaxSpeed), rounded(kMaxSpeed));
  const double x = rounded(position + v);
  const double slowest = x <= rounded(kMinPosition) ? 0 : -1;  // the wall stops the car
  velocity = single(v < slowest ? slowest : v);
  position = single(clamped(x, rounded(kMinPosition), rounded(kMaxPosition)));
  fresh = 0;
}

// Compares in float32, as the original does after the first step. The first step cannot arrive.
inline bool MountainCarContinuous::arrived() const {
  return (position >= single(kGoal)) & (velocity >= 0);
}

inline float MountainCarContinuous::reward(float action, bool arrived) {
  const double a = static_cast<double>(action);
  return static_cast<float>((arrived ? 100.0 : 0.0) - a * a * 0.1);
}

inline void MountainCarContinuous::reset(Rng& rng) {
  position = rng.uniform(-0.6, -0.4);
  velocity = 0;
  fresh = 1;
}

inline void MountainCarContinuous::observe(std::span<float> obs) const {
  obs[0] = static_cast<float>(position);
  obs[1] = static_cast<float>(velocity);
}

inline Step MountainCarContinuous::step(std::span<const float> action, Rng&) {
  advance(action[0]);
  return {reward(action[0], arrived()), arrived()};
}

}  // namespace hotloop
