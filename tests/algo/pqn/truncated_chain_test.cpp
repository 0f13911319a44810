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

constexpr int kStates = 6, kCut = 5, kLanesUsed = 16, kSteps = 8, kUpdates = 4'000;
constexpr double kChainGamma = 0.9, kChainEpsilon = 0.5;
constexpr Exploration kPolicy{.kind = Explore::epsilon_greedy, .epsilon = kChainEpsilon};

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
        q[s][a] = reward + kChainGamma * next;
      }
    }
  }
  return q;
}

// Trains on one-hot states with no hidden layer, so Q is a weight plus a bias. Q fluctuates with the
// actions that SARSA happens to take next; its mean over the second half of the updates is steady.
Table learnt_values(std::uint64_t seed) {
  AgentSpec spec;
  use_algorithm(spec, find_algorithm("sarsa"));
  spec.envs = kLanesUsed;
  spec.learn.gamma = kChainGamma;
  spec.learn.batch = kLanesUsed * kSteps;
  spec.net.hidden = {};
  spec.optimiser = {.kind = OptimiserKind::sgd, .learning_rate = linear(1, 0.1, kUpdates / 2)};
  spec.optimiser.learning_rate.count = Count::updates;
  pqn(spec).loss = Loss::mse;
  pqn(spec).explore.epsilon = constant(kChainEpsilon);
  rollout(spec) = {.n_steps = kSteps, .n_epochs = 1, .lambda = 0};
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
  const auto& layer = std::get<DenseLayer>(learner.acting().structure().layers[0]);
  const std::span<const float> weights = learner.acting().online();
  Table mean{};
  for (int step = 0; step < kSteps * kUpdates; ++step) {
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
    if ((step + 1) % kSteps != 0) continue;
    ++counters.train_events;
    learner.learn({counters, window, team});
    if (counters.updates <= kUpdates / 2) continue;
    for (int s = 0; s < kStates; ++s) {
      for (int a = 0; a < 2; ++a) {
        const std::size_t row = static_cast<std::size_t>(a) * layer.stride;
        mean[s][a] +=
            (weights[layer.weight + row + s] + weights[layer.bias + a]) / (kUpdates / 2.0);
      }
    }
  }
  return mean;
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
