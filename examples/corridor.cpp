// The smallest environment: walk right to a goal whose position changes with each episode.
//   hotloop train corridor.cpp
#include <hotloop/env.hpp>

struct Corridor {
  static constexpr auto spec =
      hotloop::EnvSpec{.name = "corridor", .obs = 2, .actions = 2, .max_steps = 100};
  int x = 0, goal = 9;
  void reset(hotloop::Rng& rng) { x = 0, goal = 5 + rng.below(10); }
  void observe(std::span<float> obs) const { obs[0] = x / 20.f, obs[1] = goal / 20.f; }
  hotloop::Step step(int action, hotloop::Rng&) {
    x += action == 1 ? 1 : -1;
    return {x == goal ? 1.f : -.01f, x == goal || x < 0};
  }
};
HOTLOOP_ENV(Corridor)
