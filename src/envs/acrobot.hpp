// Acrobot-v1: swing the tip of a two-link pendulum above the bar with a torque of -1 (0), 0 (1) or
// +1 (2) at the joint between the links.
//
// Equal to Gymnasium's Acrobot-v1: the dynamics of Sutton & Barto's book, one step of classical
// Runge-Kutta over 0.2 s, angles wrapped into [-pi, pi], speeds bounded by 4 pi and 9 pi, state in
// double (only the reset rounds it to float32), observation (cos, sin, cos, sin, speed, speed) in
// float32, reward -1 and 0 on the last step, terminated when the tip is one link above the bar,
// truncated after 500 steps.
//
// The single world and the batch share the same inline functions. `integrate` has nearly all of the
// arithmetic. With the engine's maths it has no branch and no call, so the compiler vectorises it.
//
// The motion is chaotic: the last digit of a sine decides what happens 200 steps later. So there
// are two versions. The engine's sine is fast and has the same bits on every machine. With the C
// library's sine, which NumPy also calls, whole episodes equal Gymnasium's to the bit.
#pragma once

#include <hotloop/env.hpp>

#include <cmath>
#include <numbers>
#include <vector>

#include "envs/sin_cos.hpp"

namespace hotloop {

struct EngineMaths {
  static SinCos sin_cos(double a) { return hotloop::sin_cos(a); }
  static double squared(double a) { return a * a; }
};
struct LibraryMaths {
  static SinCos sin_cos(double a) { return {std::sin(a), std::cos(a)}; }
  static double squared(double a);  // uses `pow`, like NumPy's scalars: sometimes an ulp different
};

template <class Maths>
struct AcrobotBy {
  static constexpr EnvSpec spec{.name = "acrobot",
                                .obs = 6,
                                .actions = 3,
                                .max_steps = 500,
                                .solved_return = -100,
                                .parts = {{{"angle1", {2}}, {"angle2", {2}}, {"speeds", {2}}}},
                                .about = "swing up a two-link pendulum (Gymnasium's Acrobot-v1)"};

  static constexpr double kTimeStep = 0.2;
  static constexpr double kGravity = 9.8;
  static constexpr double kLength1 = 1;
  static constexpr double kMass1 = 1, kMass2 = 1;
  static constexpr double kCentre1 = 0.5, kCentre2 = 0.5;  // centre of mass along the link
  static constexpr double kInertia1 = 1, kInertia2 = 1;
  static constexpr double kMaxSpeed1 = 4 * std::numbers::pi;
  static constexpr double kMaxSpeed2 = 9 * std::numbers::pi;

  double theta1 = 0, theta2 = 0;  // link 1 from hanging down, link 2 from link 1
  double dtheta1 = 0, dtheta2 = 0;

  struct Slope {
    double theta1, theta2, dtheta1, dtheta2;
  };
  Slope slope(double torque) const;                  // d state / dt
  AcrobotBy moved(const Slope& k, double dt) const;  // state + dt k

  void integrate(int action);  // the Runge-Kutta step
  void confine();              // wraps the angles, bounds the speeds
  bool swung_up() const;

  void reset(Rng& rng);
  void observe(std::span<float> obs) const;
  Step step(int action, Rng&);
  bool is_valid() const;
  Picture picture() const;  // classic_pictures.cpp

  struct Batch;
};
using Acrobot = AcrobotBy<EngineMaths>;

// N Acrobots as a structure of arrays.
template <class Maths>
struct AcrobotBy<Maths>::Batch {
  std::vector<double> theta1, theta2, dtheta1, dtheta2;  // [N] each

  void resize(int count);
  AcrobotBy get(int row) const { return {theta1[row], theta2[row], dtheta1[row], dtheta2[row]}; }
  void set(int row, const AcrobotBy& world);
  void step(int begin, int end, std::span<const std::int32_t> actions, std::span<float> rewards,
            std::span<std::uint8_t> terminated);
  void observe(int begin, int end, std::span<float> obs) const;
};

template <class Maths>
typename AcrobotBy<Maths>::Slope AcrobotBy<Maths>::slope(double torque) const {
  constexpr double m1 = kMass1, m2 = kMass2, l1 = kLength1, lc1 = kCentre1, lc2 = kCentre2;
  constexpr double g = kGravity, right_angle = std::numbers::pi / 2;
  const auto [sin2, cos2] = Maths::sin_cos(theta2);
  const double d1 =
      m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2 * l1 * lc2 * cos2) + kInertia1 + kInertia2;
  const double d2 = m2 * (lc2 * lc2 + l1 * lc2 * cos2) + kInertia2;
  const double phi2 = m2 * lc2 * g * Maths::sin_cos(theta1 + theta2 - right_angle).cos;
  const double phi1 = -m2 * l1 * lc2 * Maths::squared(dtheta2) * sin2 -
                      2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * sin2 +
                      (m1 * lc1 + m2 * l1) * g * Maths::sin_cos(theta1 - right_angle).cos + phi2;
  const double acc2 =
      (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * Maths::squared(dtheta1) * sin2 - phi2) /
      (m2 * (lc2 * lc2) + kInertia2 - Maths::squared(d2) / d1);
  const double acc1 = -(d2 * acc2 + phi1) / d1;
  return {dtheta1, dtheta2, acc1, acc2};
}

template <class Maths>
AcrobotBy<Maths> AcrobotBy<Maths>::moved(const Slope& k, double dt) const {
  return {theta1 + dt * k.theta1, theta2 + dt * k.theta2, dtheta1 + dt * k.dtheta1,
          dtheta2 + dt * k.dtheta2};
}

template <class Maths>
void AcrobotBy<Maths>::integrate(int action) {
  const double torque = static_cast<double>(action - 1);
  const Slope k1 = slope(torque);
  const Slope k2 = moved(k1, kTimeStep / 2).slope(torque);
  const Slope k3 = moved(k2, kTimeStep / 2).slope(torque);
  const Slope k4 = moved(k3, kTimeStep).slope(torque);
  const auto sum = [](double a, double b, double c, double d) { return a + 2 * b + 2 * c + d; };
  *this = moved({sum(k1.theta1, k2.theta1, k3.theta1, k4.theta1),
                 sum(k1.theta2, k2.theta2, k3.theta2, k4.theta2),
                 sum(k1.dtheta1, k2.dtheta1, k3.dtheta1, k4.dtheta1),
                 sum(k1.dtheta2, k2.dtheta2, k3.dtheta2, k4.dtheta2)},
                kTimeStep / 6);
}

template <class Maths>
void AcrobotBy<Maths>::confine() {
  constexpr double pi = std::numbers::pi;
  for (double* angle : {&theta1, &theta2}) {
    while (*angle > pi) *angle -= 2 * pi;
    while (*angle < -pi) *angle += 2 * pi;
  }
  dtheta1 = clamped(dtheta1, -kMaxSpeed1, kMaxSpeed1);
  dtheta2 = clamped(dtheta2, -kMaxSpeed2, kMaxSpeed2);
}

// From angles far beyond a turn, `confine` would not return.
template <class Maths>
bool AcrobotBy<Maths>::is_valid() const {
  return std::abs(theta1) <= std::numbers::pi && std::abs(theta2) <= std::numbers::pi &&
         std::abs(dtheta1) <= kMaxSpeed1 && std::abs(dtheta2) <= kMaxSpeed2;
}

template <class Maths>
bool AcrobotBy<Maths>::swung_up() const {
  return -Maths::sin_cos(theta1).cos - Maths::sin_cos(theta2 + theta1).cos > 1;
}

template <class Maths>
void AcrobotBy<Maths>::reset(Rng& rng) {
  for (double* value : {&theta1, &theta2, &dtheta1, &dtheta2}) {
    *value = static_cast<double>(static_cast<float>(rng.uniform(-0.1, 0.1)));
  }
}

template <class Maths>
void AcrobotBy<Maths>::observe(std::span<float> obs) const {
  const SinCos first = Maths::sin_cos(theta1);
  const SinCos second = Maths::sin_cos(theta2);
  obs[0] = static_cast<float>(first.cos);
  obs[1] = static_cast<float>(first.sin);
  obs[2] = static_cast<float>(second.cos);
  obs[3] = static_cast<float>(second.sin);
  obs[4] = static_cast<float>(dtheta1);
  obs[5] = static_cast<float>(dtheta2);
}

template <class Maths>
Step AcrobotBy<Maths>::step(int action, Rng&) {
  integrate(action);
  confine();
  const bool up = swung_up();
  return {up ? 0.0f : -1.0f, up};
}

}  // namespace hotloop
