// Helpers for the tests of durotaxis: worlds made from options as text, stepped one at a time.
#pragma once

#include <array>
#include <vector>

#include "env/options.hpp"
#include "env/registry.hpp"
#include "envs/durotaxis/durotaxis.hpp"

namespace hotloop {

using Action5 = std::array<float, 5>;  // ratio, gamma, alpha, noise, theta

inline DurotaxisRules durotaxis_rules_of(const EnvOptions& options) {
  return durotaxis_rules(option_values(find_env("durotaxis"), options));
}

inline std::string name_of(const EnvOptions& options) {
  std::string name;
  for (const auto& [key, word] : options) name += key + "=" + word + " ";
  return name;
}

// One world.
struct OneColony {
  DurotaxisArray array;
  std::uint64_t steps = 0;

  explicit OneColony(const EnvOptions& options = {}) : array(1, durotaxis_rules_of(options)) {}

  const DurotaxisWorld& world() const { return array.world(0); }
  const DurotaxisReward& reward() const { return world().latest; }
  void place(std::vector<float> x, std::vector<float> y, std::vector<std::int32_t> parents = {}) {
    array.place(0, x, y, parents);
  }
  void reset(std::uint64_t seed) {
    Rng rng(seed, Purpose::test, 0, 0);
    array.reset(0, rng);
  }
  Step step(const Action5& action) {
    std::array<float, 1> reward;
    std::array<std::uint8_t, 1> terminated;
    array.step(0, 1, action, 11, Purpose::test, ++steps, reward, terminated);
    return {reward[0], terminated[0] != 0};
  }
  std::vector<float> observe() const {
    std::vector<float> obs(array.spec().obs);
    array.observe(0, 1, obs);
    return obs;
  }
  float measure(std::string_view name) const {
    std::array<float, kMaxMeasures> values{};
    array.measure(0, values);
    for (int i = 0; i < array.spec().measure_count(); ++i) {
      if (array.spec().measures[i] == name) return values[i];
    }
    return -1;
  }
};

// Within the bounds of the spec, and sometimes beyond them.
inline Action5 random_action(const EnvSpec& spec, Rng& rng) {
  Action5 action;
  for (int i = 0; i < 5; ++i) {
    const double span = spec.action_high[i] - spec.action_low[i];
    action[i] = static_cast<float>(spec.action_low[i] + span * rng.uniform(-0.1, 1.1));
  }
  return action;
}

}  // namespace hotloop
