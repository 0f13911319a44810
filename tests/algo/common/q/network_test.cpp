#include "algo/common/q/network.hpp"

#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/network.hpp"

namespace hotloop {
namespace {

constexpr int kEnvs = 50, kActions = 4, kSteps = 400;

struct Acting {
  Structure net;
  QNetwork network;
  ThreadTeam team{1};
  std::vector<float> obs = std::vector<float>(kEnvs * 3);
  std::vector<std::uint8_t> mask = std::vector<std::uint8_t>(kEnvs * kActions, 1);
  std::vector<std::int32_t> actions = std::vector<std::int32_t>(kEnvs);

  explicit Acting(const NetOptions& options = {.hidden = {8}})
      : net(make_mlp(3, kActions, options)),
        network(net, {.actions = kActions}, Initialiser::pytorch, {}, 1, kEnvs, nullptr) {
    Rng rng(6, Purpose::test, 0, 0);
    for (float& x : obs) x = static_cast<float>(rng.normal());
    for (int i = 0; i < kEnvs; ++i) mask[i * kActions + i % kActions] = 0;
  }
  const std::vector<std::int32_t>& act(const Exploration& exploration, std::uint64_t step,
                                       const ActionValues& values = {}) {
    network.act(obs, mask, exploration, step, team, actions, values);
    return actions;
  }
};

// Epsilon-greedy: one draw per environment, no masked actions, the right share of random actions.
TEST(QNetwork, ExploresPerEnvironmentWithinTheMask) {
  Acting a;
  const std::vector<std::int32_t> greedy = a.act({.epsilon = 0}, 0);
  int differing = 0, rows_differing_together = 0;
  for (int t = 0; t < kSteps; ++t) {
    a.act({.epsilon = 0.3}, t);
    int now = 0;
    for (int i = 0; i < kEnvs; ++i) {
      ASSERT_TRUE(a.mask[i * kActions + a.actions[i]]) << "masked action taken";
      now += a.actions[i] != greedy[i];
    }
    differing += now;
    rows_differing_together += now == kEnvs;
  }
  // A third of the random actions (three are allowed) equal the greedy one: 0.3 * 2/3 = 0.2 differ.
  EXPECT_NEAR(differing / double{kEnvs * kSteps}, 0.2, 0.015);
  EXPECT_EQ(rows_differing_together, 0);
}

// A random action is kept for several steps (a period); the share of random actions stays epsilon.
TEST(QNetwork, KeepsARandomActionForNSteps) {
  Acting a;
  const std::vector<std::int32_t> greedy = a.act({.epsilon = 0}, 0);
  constexpr int kKept = 8;
  constexpr double kEpsilon = 0.5;
  std::vector<std::int32_t> first;
  int differing = 0, new_actions = 0;
  for (int t = 0; t < kSteps; ++t) {
    a.act({.epsilon = kEpsilon, .steps = kKept}, t);
    if (t % kKept == 0) {
      for (int i = 0; t > 0 && i < kEnvs; ++i) new_actions += a.actions[i] != first[i];
      first = a.actions;
    }
    ASSERT_EQ(a.actions, first) << "step " << t;
    for (int i = 0; i < kEnvs; ++i) {
      ASSERT_TRUE(a.mask[i * kActions + a.actions[i]]) << "masked action taken";
      differing += a.actions[i] != greedy[i];
    }
  }
  // A third of the random actions equal the greedy one. Two periods have the same action if both
  // are greedy in effect (2/3 each), or else with probability 1/6 * 1/6 for each of two actions.
  EXPECT_NEAR(differing / double{kEnvs * kSteps}, 1 / 3.0, 0.03);
  const int pairs = kEnvs * (kSteps / kKept - 1);
  EXPECT_NEAR(new_actions / double{pairs}, 1 - 4 / 9.0 - 2 / 36.0, 0.04);
}

// A kept action that the mask forbids is only suspended until the mask allows it again.
TEST(QNetwork, KeptActionsReturnWithTheMask) {
  Acting a;
  const std::vector<std::uint8_t> all(kEnvs * kActions, 1);
  int others = 0;
  for (int period = 0; period < 20; ++period) {
    const Exploration always{.epsilon = 1, .steps = 3};
    a.mask = all;
    const std::vector<std::int32_t> first = a.act(always, 3 * period);
    for (int i = 0; i < kEnvs; ++i) a.mask[i * kActions + first[i]] = 0;
    a.act(always, 3 * period + 1);
    for (int i = 0; i < kEnvs; ++i) {
      ASSERT_NE(a.actions[i], first[i]);
      others |= 1 << a.actions[i];
    }
    a.mask = all;
    ASSERT_EQ(a.act(always, 3 * period + 2), first);
  }
  EXPECT_EQ(others, (1 << kActions) - 1);
}

// Acting normalises observations.
TEST(QNetwork, ActsOnNormalisedObservations) {
  Acting plain;
  const std::vector<float> mean = {1, -2, 0.5f}, factor = {3, 0.5f, 2};
  const InputScale scale{mean.data(), factor.data()};
  QNetwork scaled(plain.net, {.actions = kActions}, Initialiser::pytorch, {}, 1, kEnvs, &scale);
  std::vector<float> obs = plain.obs;
  for (std::size_t i = 0; i < obs.size(); ++i)
    plain.obs[i] = std::clamp((obs[i] - mean[i % 3]) * factor[i % 3], -10.0f, 10.0f);
  std::vector<std::int32_t> actions(kEnvs);
  std::vector<float> best(kEnvs), taken(kEnvs), plain_best(kEnvs);
  scaled.act(obs, plain.mask, {.epsilon = 0}, 0, plain.team, actions, {best, taken});
  EXPECT_EQ(plain.act({.epsilon = 0}, 0, {plain_best, taken}), actions);
  EXPECT_EQ(best, plain_best);
}

// Boltzmann: frequencies follow softmax(Q / temperature) over the allowed actions.
TEST(QNetwork, BoltzmannFollowsTheSoftmax) {
  Acting a;
  constexpr double kTemperature = 0.2;
  std::vector<float> values(kEnvs), taken(kEnvs);
  std::vector<double> q(kEnvs * kActions, -INFINITY);
  const std::vector<double> parameters(a.network.online().begin(), a.network.online().end());
  for (int i = 0; i < kEnvs; ++i) {
    const std::vector<double> row(a.obs.begin() + i * 3, a.obs.begin() + (i + 1) * 3);
    const std::vector<double> all = reference::forward<double>(a.net, parameters, row).y.back();
    for (int k = 0; k < kActions; ++k) {
      if (a.mask[i * kActions + k] != 0) q[i * kActions + k] = all[k];
    }
  }
  constexpr int kDraws = 4000;
  std::vector<int> counts(kEnvs * kActions);
  for (int t = 0; t < kDraws; ++t) {
    a.act({.kind = Explore::boltzmann, .temperature = kTemperature}, t, {values, taken});
    for (int i = 0; i < kEnvs; ++i) {
      const int place = i * kActions + a.actions[i];
      ASSERT_TRUE(a.mask[place]) << "masked action taken";
      ++counts[place];
      ASSERT_NEAR(taken[i], q[place], 1e-5);
      ASSERT_LE(taken[i], values[i]);
    }
  }
  for (int i = 0; i < kEnvs; ++i) {
    double sum = 0;
    for (int k = 0; k < kActions; ++k) sum += std::exp(q[i * kActions + k] / kTemperature);
    for (int k = 0; k < kActions; ++k) {
      const double p = std::exp(q[i * kActions + k] / kTemperature) / sum;
      const double bound = 5 * std::sqrt(p * (1 - p) / kDraws) + 1e-9;  // five standard errors
      EXPECT_NEAR(counts[i * kActions + k] / double{kDraws}, p, bound) << i << " " << k;
    }
  }
  // A temperature near zero is greedy.
  const std::vector<std::int32_t> greedy = a.act({.epsilon = 0}, 0);
  EXPECT_EQ(greedy, a.act({.kind = Explore::boltzmann, .temperature = 1e-9}, 0));
}

// Rows of different blocks of lanes draw different random numbers.
TEST(QNetwork, NoTwoEnvironmentsShareRandomNumbers) {
  Acting a;
  std::fill(a.obs.begin(), a.obs.end(), 0.5f);
  std::fill(a.mask.begin(), a.mask.end(), 1);
  for (const Exploration& exploration :
       {Exploration{.epsilon = 1}, Exploration{.kind = Explore::boltzmann, .temperature = 10}}) {
    std::vector<std::vector<std::int32_t>> taken(kEnvs);
    for (int t = 0; t < 40; ++t) {
      a.act(exploration, t);
      for (int i = 0; i < kEnvs; ++i) taken[i].push_back(a.actions[i]);
    }
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(std::unique(taken.begin(), taken.end()), taken.end());
  }
}

// Noise is drawn again for every step and is the only source of exploration when epsilon is 0.
TEST(QNetwork, NoisyLayersExplore) {
  Acting a({.hidden = {8}, .noisy = Noisy::all});
  const std::vector<std::int32_t> first = a.act({.epsilon = 0}, 0);
  EXPECT_EQ(first, a.act({.epsilon = 0}, 0)) << "the same step draws the same noise";
  int changed = 0;
  for (int t = 1; t < 50; ++t) changed += a.act({.epsilon = 0}, t) != first;
  EXPECT_GT(changed, 25);
}

TEST(QNetwork, ProbeFindsTheLargestValueAndTheGap) {
  // No hidden layer, observation one-hot: the weights are the table of values.
  const Structure net = make_mlp(3, 3, {.hidden = {}});
  QNetwork network(net, {.actions = 3}, Initialiser::pytorch, {}, 1, 1, nullptr);
  std::fill(network.online().begin(), network.online().end(), 0.0f);
  const DenseLayer& layer = std::get<DenseLayer>(net.layers[0]);
  const float table[3][3] = {{1, 4, 2}, {-9, -3, -2.5f}, {4, 5, 1}};
  for (int s = 0; s < 3; ++s) {
    for (int a = 0; a < 3; ++a) network.online()[layer.weight + a * layer.stride + s] = table[s][a];
  }
  const std::vector<float> rows = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const Probe probe = network.probe(rows.data(), 3);
  EXPECT_NEAR(probe.largest_q, 9, 1e-6);
  EXPECT_NEAR(probe.action_gap, (2 + 0.5 + 1) / 3, 1e-6);
  EXPECT_NEAR(probe.best_q, (4 - 2.5 + 5) / 3, 1e-6);
  const std::vector<std::uint8_t> mask = {1, 0, 1, 1, 0, 0, 0, 1, 1};
  const Probe allowed = network.probe(rows.data(), 3, mask.data());
  EXPECT_NEAR(allowed.largest_q, 9, 1e-6);
  EXPECT_NEAR(allowed.action_gap, (1 + 4) / 2.0, 1e-6);  // the second row has no choice
  EXPECT_NEAR(allowed.best_q, (2 - 9 + 5) / 3.0, 1e-6);
}

// Each value is filled if there is a span for it, whatever the others are, and never changes the
// actions. With epsilon 1 no action needs the network, but the values do.
TEST(QNetwork, FillsTheValuesThatAreAskedFor) {
  Acting a;
  const Exploration explorations[] = {{.epsilon = 0},
                                      {.epsilon = 0.5},
                                      {.epsilon = 1},
                                      {.kind = Explore::boltzmann, .temperature = 0.5}};
  for (const Exploration& e : explorations) {
    std::vector<float> best(kEnvs), taken(kEnvs);
    const std::vector<std::int32_t> actions = a.act(e, 3, {best, taken});
    for (int i = 0; i < kEnvs; ++i) EXPECT_GE(best[i], taken[i]);
    std::vector<float> alone(kEnvs);
    EXPECT_EQ(a.act(e, 3), actions);
    EXPECT_EQ(a.act(e, 3, {.best = alone, .taken = {}}), actions);
    EXPECT_EQ(alone, best);
    EXPECT_EQ(a.act(e, 3, {.best = {}, .taken = alone}), actions);
    EXPECT_EQ(alone, taken);
  }
}

}  // namespace
}  // namespace hotloop
