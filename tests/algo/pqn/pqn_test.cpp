#include "algo/pqn/pqn.hpp"

#include <gtest/gtest.h>

#include <hotloop/rng.hpp>

#include <cmath>
#include <vector>

#include "reference/exploring_policy.hpp"
#include "reference/network.hpp"
#include "tests/algo/agent_specs.hpp"

namespace hotloop {
namespace {

std::vector<float> returns_of(int steps, int lanes, double gamma, double lambda,
                              const std::vector<float>& rewards,
                              const std::vector<std::uint8_t>& terminated,
                              const std::vector<std::uint8_t>& truncated,
                              const std::vector<float>& next_values, float factor = 1) {
  std::vector<float> returns(rewards.size());
  lambda_returns(steps, lanes, gamma, lambda, rewards, factor, terminated, truncated, next_values,
                 returns);
  return returns;
}

// By hand from G_t = r_t + gamma (lambda G_{t+1} + (1 - lambda) V_{t+1}), gamma .9, lambda .5,
// rewards 1, 0, 2, V = 3, 4, 5:
//   G_2 = 2 + .9 * 5 = 6.5;  G_1 = 0 + .9 (.5 * 6.5 + .5 * 4) = 4.725;
//   G_0 = 1 + .9 (.5 * 4.725 + .5 * 3) = 4.47625
TEST(LambdaReturns, ByHand) {
  const auto g = returns_of(3, 1, 0.9, 0.5, {1, 0, 2}, {0, 0, 0}, {0, 0, 0}, {3, 4, 5});
  EXPECT_NEAR(g[2], 6.5, 1e-6);
  EXPECT_NEAR(g[1], 4.725, 1e-6);
  EXPECT_NEAR(g[0], 4.47625, 1e-6);
}

// lambda 0 gives one-step targets; lambda 1 gives the n-step return of check 2 of SLM-Lab's
// specification (1 + 0 + 1.62 + .729 * 5 = 6.265).
TEST(LambdaReturns, OneStepAndLongestReturn) {
  const auto one = returns_of(3, 1, 0.9, 0, {1, 0, 2}, {0, 0, 0}, {0, 0, 0}, {3, 4, 5});
  EXPECT_NEAR(one[0], 1 + 0.9 * 3, 1e-6);
  EXPECT_NEAR(one[1], 0.9 * 4, 1e-6);
  const auto all = returns_of(3, 1, 0.9, 1, {1, 0, 2}, {0, 0, 0}, {0, 0, 0}, {3, 4, 5});
  EXPECT_NEAR(all[0], 6.265, 1e-6);
}

// Check 2 continued: terminated after the second reward 1.0; truncated there with value 4: 4.24.
TEST(LambdaReturns, EndsCutTheReturn) {
  const auto terminated = returns_of(3, 1, 0.9, 1, {1, 0, 2}, {0, 1, 0}, {0, 0, 0}, {3, 4, 5});
  EXPECT_NEAR(terminated[0], 1.0, 1e-6);
  EXPECT_NEAR(terminated[2], 6.5, 1e-6);
  const auto truncated = returns_of(3, 1, 0.9, 1, {1, 0, 2}, {0, 0, 0}, {0, 1, 0}, {3, 4, 5});
  EXPECT_NEAR(truncated[0], 4.24, 1e-6);
}

TEST(LambdaReturns, LanesAreIndependentAndRewardsScaled) {
  const auto both =
      returns_of(2, 2, 0.5, 0.5, {1, 10, 2, 20}, {0, 0, 0, 1}, {0, 0, 0, 0}, {1, 2, 3, 4}, 0.5f);
  const auto left = returns_of(2, 1, 0.5, 0.5, {1, 2}, {0, 0}, {0, 0}, {1, 3}, 0.5f);
  const auto right = returns_of(2, 1, 0.5, 0.5, {10, 20}, {0, 1}, {0, 0}, {2, 4}, 0.5f);
  EXPECT_EQ(both, (std::vector<float>{left[0], right[0], left[1], right[1]}));
  EXPECT_NEAR(right[1], 10, 1e-6);
}

// One update against the formulas, row by row, in double precision.
TEST(Pqn, UpdateFollowsTheGradientOfTheMeanLoss) {
  constexpr int kSteps = 3, kLanesOf = 4, kObs = 3, kBatch = 6;
  const Structure net =
      make_mlp(kObs, 2, {.hidden = {9}, .activation = Activation::tanh, .layer_norm = true});
  for (const Loss loss : {Loss::mse, Loss::huber}) {
    Pqn pqn(net,
            agent(PqnOptions{.loss = loss}, {.learn = {.batch = kBatch},
                                             .optimiser = {.kind = OptimiserKind::sgd},
                                             .init = Initialiser::orthogonal,
                                             .envs = kLanesOf}),
            3);
    Rollout rollout({.steps = kSteps, .lanes = kLanesOf, .obs = kObs, .actions = 2});
    Rng rng(2, Purpose::test, 0, 0);
    std::vector<float> obs(kLanesOf * kObs), rewards(kLanesOf, 1);
    std::vector<std::int32_t> actions(kLanesOf);
    const std::vector<std::uint8_t> no(kLanesOf, 0);
    const auto draw = [&] {
      for (float& x : obs) x = static_cast<float>(rng.normal());
      for (auto& a : actions) a = static_cast<std::int32_t>(rng.below(2));
    };
    draw();
    rollout.begin(obs, {});
    for (int t = 0; t < kSteps; ++t) {
      draw();
      rollout.push({actions, rewards, no, no, obs, {}, obs, {}});
    }
    std::vector<float> returns;
    for (int i = 0; i < kSteps * kLanesOf; ++i)
      returns.push_back(static_cast<float>(2 * rng.normal()));
    const std::vector<std::int32_t> places = {7, 0, 11, 3, 4, 9};

    const std::vector<double> before(pqn.network().online().begin(), pqn.network().online().end());
    std::vector<double> gradient(net.storage, 0.0);
    double expected = 0;
    for (const int place : places) {
      const std::vector<double> s(rollout.obs().begin() + place * kObs,
                                  rollout.obs().begin() + (place + 1) * kObs);
      const auto trace = reference::forward<double>(net, before, s);
      const int action = rollout.actions()[place];
      const double u = returns[place] - trace.y.back()[action];
      const bool small = std::abs(u) <= 1;
      expected += (loss == Loss::mse ? u * u : small ? u * u / 2 : std::abs(u) - 0.5) / kBatch;
      std::vector<double> dy(2, 0.0);
      dy[action] = -(loss == Loss::mse ? 2 * u : std::clamp(u, -1.0, 1.0)) / kBatch;
      reference::backward<double>(net, before, trace, dy, gradient);
    }
    ThreadTeam team(1);
    const UpdateReport report = pqn.update(rollout, places, returns, 0.1, 0, team);
    EXPECT_NEAR(report.loss, expected, 1e-5 * (1 + expected));
    for (std::size_t i = 0; i < net.storage; ++i) {
      ASSERT_NEAR(pqn.network().online()[i], before[i] - 0.1 * gradient[i], 1e-5) << i;
    }
  }
}

TEST(Pqn, ValuesAreExpectationsUnderThePolicy) {
  const Structure net = make_mlp(2, 3, {.hidden = {5}});
  Pqn pqn(net, agent(PqnOptions{}, {.learn = {.batch = 1}, .envs = 40}), 3);
  Rng rng(2, Purpose::test, 0, 0);
  std::vector<float> rows(80);
  for (float& x : rows) x = static_cast<float>(rng.normal());
  std::vector<std::uint8_t> masks(120, 1);
  for (int i = 0; i < 40; ++i) masks[i * 3 + i % 3] = 0;
  std::vector<float> values(40);
  const std::vector<double> parameters(pqn.network().online().begin(),
                                       pqn.network().online().end());
  ThreadTeam team(2);
  const Exploration policies[] = {kGreedyPolicy,
                                  {.kind = Explore::epsilon_greedy, .epsilon = 0.3},
                                  {.kind = Explore::epsilon_greedy, .epsilon = 1, .steps = 4},
                                  {.kind = Explore::boltzmann, .temperature = 0.2}};
  for (const Exploration& policy : policies) {
    for (const bool masked : {false, true}) {
      pqn.values(rows.data(), masked ? masks.data() : nullptr, 40, policy, values, team);
      for (int i = 0; i < 40; ++i) {
        const std::vector<double> s(rows.begin() + 2 * i, rows.begin() + 2 * i + 2);
        const std::vector<double> q = reference::forward<double>(net, parameters, s).y.back();
        const std::uint8_t* mask = masked ? &masks[i * 3] : nullptr;
        EXPECT_NEAR(values[i], reference::expected_q(q, mask, policy), 1e-5);
      }
    }
  }
}

// By hand, with Q = (1, 5, 3): epsilon 0.3 gives 0.3 * 3 + 0.7 * 5 = 4.4, and without the best
// action 0.3 * 2 + 0.7 * 3 = 2.7. Boltzmann with temperature 2 / ln 3 weighs them 1 : 9 : 3, so
// (1 + 45 + 9) / 13. A greedy policy gives the maximum, to the bit.
TEST(Pqn, ExpectedValueByHand) {
  std::vector<float> lanes(3 * kLanes, -100);
  const std::vector<float> q = {1, 5, 3};
  constexpr int kLane = 7;
  for (int a = 0; a < 3; ++a) lanes[a * kLanes + kLane] = q[a];
  const std::vector<std::uint8_t> mask = {1, 0, 1};
  const auto value = [&](const Exploration& e, bool masked = false) {
    return expected_q(lanes.data() + kLane, 3, masked ? mask.data() : nullptr, masked ? 2 : 1, e);
  };
  EXPECT_EQ(value(kGreedyPolicy), 5);
  EXPECT_FLOAT_EQ(value({.epsilon = 0.3}), 4.4f);
  EXPECT_FLOAT_EQ(value({.epsilon = 0.3}, true), 2.7f);
  EXPECT_FLOAT_EQ(value({.epsilon = 1}), 3);
  EXPECT_FLOAT_EQ(value({.kind = Explore::boltzmann, .temperature = 2 / std::log(3)}), 55.0f / 13);
}

}  // namespace
}  // namespace hotloop
