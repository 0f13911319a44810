// Learners against plain loops that apply each setting of the spec directly. The parts (memory,
// network, statistics) have their own tests; these tests fail if a setting does not reach its part.
// Transitions are random, with random masks, terminations and truncations. This file has what all
// loops share; each loop is in the folder of its algorithm.
#pragma once

#include <gtest/gtest.h>

#include <hotloop/env.hpp>

#include <functional>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algo/common/learner.hpp"
#include "algo/common/q/exploration.hpp"
#include "algo/common/rollout_options.hpp"
#include "env/world_facts.hpp"
#include "memory/rollout.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop::twin {

inline constexpr int kEnvs = 3, kObs = 3, kActions = 4, kCut = 7;
inline constexpr std::uint64_t kSeed = 5;

// Learners know only the shapes of observations, actions and masks.
inline const WorldFacts kWorld{
    .spec = {.name = "test_twin", .obs = kObs, .actions = kActions, .max_steps = kCut},
    .masks = true,
    .steps_between_truncations = kCut};

// A stream of random vector steps.
struct Life {
  Rng rng{9, Purpose::test, 0, 0};
  std::vector<float> obs = std::vector<float>(kEnvs * kObs), final_obs = obs;
  std::vector<std::uint8_t> mask = std::vector<std::uint8_t>(kEnvs * kActions), final_mask = mask;
  std::vector<float> rewards = std::vector<float>(kEnvs);
  std::vector<std::uint8_t> terminated = std::vector<std::uint8_t>(kEnvs), truncated = terminated;
  std::vector<int> lengths = std::vector<int>(kEnvs);

  Life() { look(obs, mask); }
  void look(std::vector<float>& values, std::vector<std::uint8_t>& allowed) {
    for (float& value : values) value = static_cast<float>(2 + 3 * rng.normal());
    for (auto& may : allowed) may = rng.below(2) == 0;
    for (int env = 0; env < kEnvs; ++env) allowed[env * kActions + rng.below(kActions)] = 1;
  }
  Transitions step(std::span<const std::int32_t> actions) {
    look(obs, mask);
    look(final_obs, final_mask);
    for (int env = 0; env < kEnvs; ++env) {
      rewards[env] = static_cast<float>(5 * rng.normal());
      const bool cut = ++lengths[env] == kCut;
      truncated[env] = cut;
      terminated[env] = !cut && rng.below(6) == 0;
      if (cut || terminated[env]) lengths[env] = 0;
    }
    return {actions, rewards, terminated, truncated, obs, mask, final_obs, final_mask};
  }
  int ended() const {
    int count = 0;
    for (int env = 0; env < kEnvs; ++env) count += terminated[env] | truncated[env];
    return count;
  }
};

// The same settings for all algorithms, regardless of their defaults.
inline AgentSpec shared_spec(std::string_view algorithm) {
  AgentSpec s;
  use_algorithm(s, find_algorithm(algorithm));
  s.envs = kEnvs;
  s.learn = {.gamma = 0.9};
  s.net = {.hidden = {16}};
  s.optimiser = {.learning_rate = linear(5e-3, 1e-3, 200)};
  s.optimiser.learning_rate.count = Count::updates;
  return s;
}

struct Case {
  std::string name;
  std::function<void(AgentSpec&)> change;
};
inline std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

inline void expect_near(std::span<const float> a, std::span<const float> b, std::int64_t updates) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << updates << " updates";
}

inline Exploration exploration_of(const ExplorationOptions& o, const Counters& c) {
  return {o.kind, o.epsilon.at(c.progress()), o.steps, o.temperature.at(c.progress())};
}

// Rollouts of six steps, two epochs of three batches each.
inline AgentSpec rollout_spec(std::string_view algorithm) {
  AgentSpec s = shared_spec(algorithm);
  rollout(s) = {.n_steps = 6, .n_epochs = 2, .lambda = 0.7};
  s.learn.batch = 6;
  return s;
}

inline Rollout make_rollout(const RolloutOptions& o) {
  return Rollout(
      {.steps = o.n_steps, .lanes = kEnvs, .obs = kObs, .actions = kActions, .masks = true});
}

// The lambda-returns by their recursion, lane by lane. `value` is the value of the next state of a
// place, `last` the value of an episode's final state.
inline std::vector<float> returns_by_hand(const Rollout& rollout, const RolloutOptions& o,
                                          double gamma, double factor,
                                          const std::function<double(int place)>& value,
                                          const std::function<double(int place)>& last) {
  std::vector<float> returns(o.n_steps * kEnvs);
  for (int env = 0; env < kEnvs; ++env) {
    double after = 0;
    for (int row = o.n_steps - 1; row >= 0; --row) {
      const int place = row * kEnvs + env;
      const bool cut = rollout.truncated()[place] != 0;
      const double v = cut ? last(place) : value(place);
      const double next = cut || row + 1 == o.n_steps ? v : o.lambda * after + (1 - o.lambda) * v;
      after =
          factor * rollout.rewards()[place] + (rollout.terminated()[place] != 0 ? 0 : gamma * next);
      returns[place] = static_cast<float>(after);
    }
  }
  return returns;
}

inline std::vector<std::int32_t> shuffled(std::size_t size, std::int64_t stream) {
  std::vector<std::int32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(kSeed, Purpose::replay, 1, static_cast<std::uint64_t>(stream));
  for (std::size_t i = size - 1; i > 0; --i)
    std::swap(order[i], order[rng.below(static_cast<std::uint32_t>(i + 1))]);
  return order;
}

}  // namespace hotloop::twin
