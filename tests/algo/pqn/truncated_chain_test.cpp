// SARSA on a chain whose episodes are cut after five steps: what it learns does not depend on where
// they are cut. The exact values are the fixed point of the Bellman equation of the best
// epsilon-greedy policy, found by iterating it in double precision.
#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <array>
#include <cmath>
#include <vector>

#include "algo/pqn/learner.hpp"
#include "reference/exploring_policy.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

constexpr int kStates = 6, kCut = 5, kLanesUsed = 16;
constexpr double kGamma = 0.9, kEpsilon = 0.5;
constexpr Exploration kPolicy{.kind = Explore::epsilon_greedy, .epsilon = kEpsilon};

using Table = std::array<std::array<double, 2>, kStates>;

// Action 1 leads to the right, where a step earns 1; action 0 leads back to the start and costs 1.
struct Move {
  int to;
  double reward;
};
Move move(int s, int a) {
  if (a == 0) return {0, -1};
  return {std::min(s + 1, kStates - 1), s + 1 >= kStates - 1 ? 1.0 : 0.0};
}

Table exact_values() {
  Table q{};
  for (int sweep = 0; sweep < 1'000; ++sweep) {
    const Table old = q;
    for (int s = 0; s < kStates; ++s) {
      for (int a = 0; a < 2; ++a) {
        const auto [to, reward] = move(s, a);
        const double next = reference::expected_q({old[to][0], old[to][1]}, nullptr, kPolicy);
        q[s][a] = reward + kGamma * next;
      }
    }
  }
  return q;
}

// Trains on one-hot states with no hidden layer and no bias, so the weights are Q.
Table learnt_values(std::uint64_t seed) {
  AgentSpec spec;
  use_algorithm(spec, find_algorithm("sarsa"));
  spec.envs = kLanesUsed;
  spec.learn.gamma = kGamma;
  spec.learn.batch = kLanesUsed * 8;
  spec.net.hidden = {};
  spec.optimiser = {.kind = OptimiserKind::sgd, .learning_rate = linear(1, 0.02, 4'000)};
  spec.optimiser.learning_rate.count = Count::updates;
  pqn(spec).loss = Loss::mse;
  pqn(spec).explore.epsilon = constant(kEpsilon);
  rollout(spec) = {.n_steps = 8, .n_epochs = 1, .lambda = 0};
  const WorldFacts world{.spec = {.name = "chain", .obs = kStates, .actions = 2, .max_steps = kCut},
                         .steps_between_truncations = kCut};
  PqnLearner learner(spec, world, seed);
  ThreadTeam team(1);
  Counters counters;
  Window window;
  Actions actions(world.spec, kLanesUsed);

  Rng rng(seed, Purpose::test, 0, 0);
  std::vector<int> state(kLanesUsed), steps(kLanesUsed);
  std::vector<float> obs(kLanesUsed * kStates), final_obs = obs, rewards(kLanesUsed);
  std::vector<std::uint8_t> terminated(kLanesUsed, 0), truncated(kLanesUsed);
  const auto show = [](std::vector<float>& rows, int lane, int s) {
    for (int i = 0; i < kStates; ++i) rows[lane * kStates + i] = i == s ? 1.0f : 0.0f;
  };
  for (int lane = 0; lane < kLanesUsed; ++lane) {
    state[lane] = static_cast<int>(rng.below(kStates));
    show(obs, lane, state[lane]);
  }
  learner.begin(obs, {});
  for (std::uint64_t step = 0; step < 8 * 4'000; ++step) {
    learner.act(obs, {}, step, counters, team, actions);
    for (int lane = 0; lane < kLanesUsed; ++lane) {
      const auto [to, reward] = move(state[lane], actions.discrete[lane]);
      rewards[lane] = static_cast<float>(reward);
      state[lane] = to;
      show(final_obs, lane, to);
      truncated[lane] = ++steps[lane] == kCut;
      if (truncated[lane]) {
        steps[lane] = 0;
        state[lane] = static_cast<int>(rng.below(kStates));
      }
      show(obs, lane, state[lane]);
    }
    counters.env_steps += kLanesUsed;
    learner.push({actions.discrete, rewards, terminated, truncated, obs, {}, final_obs, {}},
                 counters);
    if ((step + 1) % 8 != 0) continue;
    ++counters.train_events;
    learner.learn({counters, window, team});
  }
  const auto& layer = std::get<DenseLayer>(learner.acting().structure().layers[0]);
  const std::span<const float> weights = learner.acting().online();
  Table q{};
  for (int s = 0; s < kStates; ++s) {
    for (int a = 0; a < 2; ++a) {
      q[s][a] = weights[layer.weight + static_cast<std::size_t>(a) * layer.stride + s] +
                weights[layer.bias + a];
    }
  }
  return q;
}

TEST(TruncatedChain, SarsaLearnsTheValuesOfItsPolicy) {
  const Table exact = exact_values();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Table learnt = learnt_values(seed);
    for (int s = 0; s < kStates; ++s) {
      for (int a = 0; a < 2; ++a)
        EXPECT_NEAR(learnt[s][a], exact[s][a], 0.1) << "Q(" << s << ", " << a << ")";
    }
  }
}

}  // namespace
}  // namespace hotloop
