// Swing a pendulum up with a weak motor and hold it there: one continuous action.
//   hotloop train pendulum_swing_up.cpp
#include <hotloop/env.hpp>

#include <algorithm>
#include <cmath>

struct PendulumSwingUp {
  static constexpr auto spec = hotloop::EnvSpec{.name = "pendulum_swing_up",
                                                .obs = 3,
                                                .action_size = 1,
                                                .action_low = {-1},
                                                .action_high = {1},
                                                .max_steps = 200,
                                                .measures = {"score"}};
  float angle = 0;  // 0 is upright
  float speed = 0;
  int upright = 0;  // steps spent upright so far

  void reset(hotloop::Rng& rng) {
    angle = static_cast<float>(rng.uniform(-3.14159, 3.14159));
    speed = static_cast<float>(rng.uniform(-1, 1));
    upright = 0;
  }

  void observe(std::span<float> obs) const {
    obs[0] = std::cos(angle), obs[1] = std::sin(angle), obs[2] = speed / 8;
  }

  hotloop::Step step(std::span<const float> action, hotloop::Rng&) {
    const float force = 2 * std::clamp(action[0], -1.f, 1.f);
    speed = std::clamp(speed + .05f * (15 * std::sin(angle) + 3 * force), -8.f, 8.f);
    angle = std::remainder(angle + .05f * speed, 6.2831853f);
    upright += std::abs(angle) < .3f ? 1 : 0;
    return {std::cos(angle) - .01f * speed * speed - .01f * force * force, false};
  }

  void measure(std::span<float> values) const { values[0] = upright; }
};
HOTLOOP_ENV(PendulumSwingUp)
