// hotloop bench env: environment steps with random actions, including auto-reset, observations and
// episode statistics, on one thread.
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "env/batch_env.hpp"
#include "env/options.hpp"
#include "env/registry.hpp"

namespace hotloop::bench {
namespace {

struct Case {
  std::string name;
  EnvChoice env;
  std::vector<int> counts;  // numbers of environments in a batch
};

// Environments with options are measured with typical ones.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const EnvEntry& entry : registered_envs()) {
    const std::string name(entry.spec->name);
    if (entry.options.empty()) all.push_back({name, {name}, {1, 64, 1024}});
  }
  for (const std::string obs : {"basic", "flood", "enhanced"}) {
    all.push_back({"snake_" + obs, {"snake", {{"grid", "10"}, {"obs", obs}}}, {256}});
  }
  all.push_back({"sfc", {"sfc", {{"centres", "4"}}}, {1, 64, 256}});
  return all;
}

struct RandomPlay {
  BatchEnv env;
  ThreadTeam team{1};
  std::vector<std::int32_t> discrete;  // [N], or
  std::vector<float> continuous;       // [N, K], depending on the environment

  RandomPlay(const EnvChoice& choice, int count)
      : env(make_worlds(choice, count), count, 1, Purpose::world),
        discrete(count),
        continuous(static_cast<std::size_t>(count) * env.spec().action_size) {
    env.reset();
  }
  void step() {
    Rng rng(1, Purpose::exploration, 0, env.steps());
    const EnvSpec& spec = env.spec();
    if (spec.action_size > 0) {
      for (std::size_t i = 0; i < continuous.size(); i += spec.action_size) {
        for (int k = 0; k < spec.action_size; ++k) {
          continuous[i + k] =
              static_cast<float>(rng.uniform(spec.action_low[k], spec.action_high[k]));
        }
      }
      env.step(continuous, team);
      return;
    }
    const auto choices = static_cast<std::uint32_t>(spec.actions);
    for (auto& action : discrete) action = static_cast<std::int32_t>(rng.below(choices));
    env.step(discrete, team);
  }
};

}  // namespace

Json env_benchmark() {
  Json rows = Json::array();
  for (const Case& measured : cases()) {
    Measurement measurement;
    for (const int count : measured.counts) {
      auto play = std::make_shared<RandomPlay>(measured.env, count);
      measurement.add(std::to_string(count), [play] { play->step(); });
    }
    const auto times = measurement.run(15, 0.02);
    for (const int count : measured.counts) {
      const Timing& timing = times.at(std::to_string(count));
      rows.push_back({{"name", measured.name},
                      {"envs", count},
                      {"threads", 1},
                      {"env_steps_per_second", count / timing.median_us * 1e6},
                      {"spread", timing.spread}});
    }
  }
  return rows;
}

}  // namespace hotloop::bench
