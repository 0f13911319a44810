// Registers its own world with the installed library, steps a batch of it and trains an agent on
// it, using only the installed headers.
#include <hotloop/env.hpp>
#include <hotloop/train.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

struct Corridor {
  static constexpr auto spec =
      hotloop::EnvSpec{.name = "corridor", .obs = 2, .actions = 2, .max_steps = 100};
  int x = 0, goal = 9;
  void reset(hotloop::Rng& rng) {
    x = 0;
    goal = 5 + static_cast<int>(rng.below(10));
  }
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(x) / 20.f;
    obs[1] = static_cast<float>(goal) / 20.f;
  }
  hotloop::Step step(int action, hotloop::Rng&) {
    x += action ? 1 : -1;
    return {x == goal ? 1.f : -.01f, x == goal || x < 0};
  }
};
HOTLOOP_ENV(Corridor)

// Has the name of a built-in world.
struct Impostor : Corridor {
  static constexpr auto spec = hotloop::EnvSpec{.name = "cartpole", .obs = 2, .actions = 2};
};

namespace {

// Walking right, a row reaches its goal after exactly as many steps as the distance: none before
// step 5, all by step 14.
int steps_until_all_arrive(int count) {
  const std::unique_ptr<hotloop::WorldArray> worlds = hotloop::env_entry<Corridor>().make(count);
  for (int row = 0; row < count; ++row) {
    hotloop::Rng rng(7, hotloop::Purpose::world, static_cast<std::uint32_t>(row), 0);
    worlds->reset(row, rng);
  }
  const std::vector<std::int32_t> right(count, 1);
  std::vector<float> rewards(count);
  std::vector<std::uint8_t> terminated(count), arrived(count);
  int waiting = count, steps = 0;
  while (waiting > 0 && steps < 100) {
    ++steps;
    worlds->step(0, count, right, 7, hotloop::Purpose::world, steps, rewards, terminated);
    for (int row = 0; row < count; ++row) {
      if (!terminated[row] || arrived[row]) continue;
      if (steps < 5 || rewards[row] != 1.f) return -1;
      arrived[row] = 1;
      --waiting;
    }
  }
  return steps;
}

int check(bool passed, const char* what) {
  std::printf("%s: %s\n", passed ? "ok" : "FAILED", what);
  return passed ? 0 : 1;
}

}  // namespace

int main() {
  // 256 draws miss the farthest goal with probability 0.9^256, about 2e-12.
  int failures = check(steps_until_all_arrive(256) == 14, "256 rows arrive, the last at step 14");
  // Walking right returns 1 at the goal minus 0.01 for each step before: at least 0.86.
  const hotloop::TrainResult result = hotloop::train(
      "cartpole_dqn", {"name=corridor", "env.name=corridor", "run.steps=20000",
                       "evaluation.threshold=0.86", "evaluation.stop_when_solved=true"});
  std::printf("corridor: %s\n", hotloop::to_json(result).c_str());
  failures += check(result.solved, "the library trains the world that came from outside");
  failures += check(hotloop::resume(result.run_dir).params_hash == result.params_hash,
                    "resuming a finished run changes nothing");
  // Last, because a name that is taken twice makes every further request fail.
  failures += check(!hotloop::register_env(hotloop::env_entry<Corridor>()),
                    "the library knows the world that registered itself here");
  failures += check(!hotloop::register_env(hotloop::env_entry<Impostor>()),
                    "the library kept the worlds that register themselves inside it");
  return failures;
}
