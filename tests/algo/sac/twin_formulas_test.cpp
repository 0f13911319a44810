// The slow twin of sac: cases worked by hand, and finite differences of whole losses.
#include <gtest/gtest.h>

#include <numeric>

#include "reference/sac.hpp"
#include "tests/algo/common/continuous/differences.hpp"
#include "tests/algo/common/continuous/random_twin.hpp"

namespace hotloop::formulas {
namespace {

using reference::ContinuousBatch;
using reference::Doubles;
using reference::Learnt;
using reference::Sac;
using reference::SacSettings;

// A network whose outputs are constants.
Learnt constant_network(int inputs, const Doubles& outputs) {
  const Structure net = make_mlp(inputs, static_cast<int>(outputs.size()), {.hidden = {}});
  Doubles p(net.storage, 0.0);
  const std::size_t bias = tensors(net).back().offset;
  for (std::size_t i = 0; i < outputs.size(); ++i) p[bias + i] = outputs[i];
  return {net, p, {}};
}

// One observation and one action. The actor has m = 0 and l = 0, so that eps 0 gives log p =
// -log(2 pi) / 2. alpha is 1/2.
Sac worked_sac(const SacSettings& settings, const std::vector<Doubles>& critics) {
  std::vector<Learnt> networks;
  for (const Doubles& outputs : critics) networks.push_back(constant_network(2, outputs));
  return {settings, constant_network(1, {0, 0}), networks, std::log(0.5), {}};
}
ContinuousBatch worked_batch() {
  return {.size = 2,
          .obs = {0, 0},
          .next_obs = {0, 0},
          .actions = {0, 0},
          .rewards = {3, 4},
          .discounts = {0.5, 0}};
}
constexpr double kLogP = -0.91893853320467274178;  // -log(2 pi) / 2

TEST(SacTwinFormulas, TargetIsTheMinimumOfTheChosenCritics) {
  const ContinuousBatch batch = worked_batch();
  const Doubles eps = {0, 0};
  const Sac two = worked_sac({.reward_factor = 0.1}, {{7}, {5}});
  const Doubles y = two.critic_targets(batch, eps);
  ASSERT_EQ(y.size(), 2u);
  EXPECT_DOUBLE_EQ(y[0], 0.3 + 0.5 * (5 - 0.5 * kLogP));
  EXPECT_DOUBLE_EQ(y[1], 0.4);  // ended

  const Sac five = worked_sac({}, {{7}, {5}, {9}, {-2}, {6}});
  EXPECT_DOUBLE_EQ(five.critic_targets(batch, eps)[0], 3 + 0.5 * (-2 - 0.5 * kLogP));
  EXPECT_DOUBLE_EQ(five.critic_targets(batch, eps, {0, 2})[0], 3 + 0.5 * (7 - 0.5 * kLogP));
  EXPECT_DOUBLE_EQ(five.critic_targets(batch, eps, {4})[0], 3 + 0.5 * (6 - 0.5 * kLogP));
}

TEST(SacTwinFormulas, TargetsUseTheTargetCritics) {
  Sac sac = worked_sac({}, {{7}, {5}});
  sac.targets[1] = constant_network(2, {1}).p;
  EXPECT_DOUBLE_EQ(sac.critic_targets(worked_batch(), {0, 0})[0], 3 + 0.5 * (1 - 0.5 * kLogP));
}

// Pooled and sorted: -3 -1 0 2 4 8.
TEST(SacTwinFormulas, QuantilesArePooledSortedAndDropped) {
  for (const int drop : {0, 1, 2}) {
    const Sac sac = worked_sac({.quantiles = true, .drop = drop}, {{4, -1, 2}, {0, 8, -3}});
    const Doubles y = sac.critic_targets(worked_batch(), {0, 0});
    const Doubles kept = {-3, -1, 0, 2, 4, 8};
    const int count = 6 - 2 * drop;
    ASSERT_EQ(y.size(), 2u * count);
    for (int j = 0; j < count; ++j) {
      EXPECT_DOUBLE_EQ(y[j], 3 + 0.5 * (kept[j] - 0.5 * kLogP)) << drop;
      EXPECT_DOUBLE_EQ(y[count + j], 4) << drop;
    }
  }
}

// theta = (0, 1), y = (0.5, 3): tau = (1/4, 3/4).
//   i = 0: u = 0.5, 3: 1/4 (1/8 + 5/2) = 21/32;      gradient -1/4 (1/2 + 1) = -3/8
//   i = 1: u = -0.5, 2: 1/4 1/8 + 3/4 3/2 = 37/32;   gradient 1/4 1/2 - 3/4 = -5/8
// all divided by the four pairs.
TEST(SacTwinFormulas, QuantileLossByHand) {
  const reference::CriticRow row = reference::quantile_row({0, 1}, {0.5, 3});
  EXPECT_DOUBLE_EQ(row.loss, 58.0 / 128);
  EXPECT_DOUBLE_EQ(row.gradient[0], -3.0 / 32);
  EXPECT_DOUBLE_EQ(row.gradient[1], -5.0 / 32);
}

// log p = -1 and 2, target entropy -3: the mean of log p + target is -2.5, so log alpha falls.
TEST(SacTwinFormulas, TemperatureGradientByHand) {
  Sac sac = worked_sac({.target_entropy = -3, .alpha_rate = 0.01}, {{0}, {0}});
  EXPECT_DOUBLE_EQ(sac.alpha_gradient({-1, 2}), 2.5);
  const double before = sac.log_alpha;
  Sac::Losses losses;
  sac.update_actor(worked_batch(), {0, 0}, losses);  // log p + target is -3.92 in both rows
  EXPECT_NEAR(sac.log_alpha, before - 0.01, 1e-8);   // the first step of Adam

  sac.settings.learns_alpha = false;
  const double kept = sac.log_alpha;
  sac.update_actor(worked_batch(), {0, 0}, losses);
  EXPECT_EQ(sac.log_alpha, kept);
}

TEST(SacTwinFormulas, ActorValueByHand) {
  Doubles d;
  for (const auto& [kind, value] : {std::pair{reference::ActorValue::minimum, -2.0},
                                    {reference::ActorValue::mean, 3.0},
                                    {reference::ActorValue::first, 7.0}}) {
    const Sac sac = worked_sac({.actor_value = kind}, {{7}, {-2}, {4}});
    EXPECT_DOUBLE_EQ(sac.value({0}, {0}, d), value);
  }
  Sac tqc =
      worked_sac({.quantiles = true, .actor_value = reference::ActorValue::mean}, {{1, 2}, {3, 6}});
  EXPECT_DOUBLE_EQ(tqc.value({0}, {0}, d), 3);
  tqc.settings.actor_value = reference::ActorValue::minimum;
  EXPECT_DOUBLE_EQ(tqc.value({0}, {0}, d), 1.5);
}

TEST(SacTwinFormulas, TargetsBlend) {
  Sac sac = worked_sac({.tau = 0.25}, {{8}, {4}});
  sac.targets[0] = constant_network(2, {4}).p;
  sac.blend_targets();
  EXPECT_DOUBLE_EQ(sac.critics[0].outputs_with(sac.targets[0], {0, 0})[0], 5);
  EXPECT_DOUBLE_EQ(sac.critics[0].outputs({0, 0})[0], 8);
}

struct Shape {
  int rows, actions, critics, quantiles;
  reference::ActorValue value = reference::ActorValue::minimum;
};

// Smooth activations: a kink between two points would look like a wrong gradient.
Sac random_sac(const Shape& shape, Rng& rng) {
  const NetOptions options{.hidden = {7, 5}, .activation = Activation::tanh};
  const Structure actor = make_mlp(3, 2 * shape.actions, options);
  const Structure critic = make_mlp(3 + shape.actions, std::max(shape.quantiles, 1), options);
  std::vector<Learnt> critics;
  for (int k = 0; k < shape.critics; ++k)
    critics.emplace_back(critic, random_parameters(critic, rng), OptimiserOptions{});
  const SacSettings settings{.quantiles = shape.quantiles > 0,
                             .drop = shape.quantiles / 3,
                             .actor_value = shape.value,
                             .reward_factor = 0.7};
  return {settings, Learnt(actor, random_parameters(actor, rng), {}), critics, -0.5, {}};
}

const Shape kShapes[] = {{1, 1, 1, 0},
                         {4, 2, 2, 0},
                         {3, 6, 5, 0},
                         {3, 2, 3, 0, reference::ActorValue::mean},
                         {3, 2, 3, 0, reference::ActorValue::first},
                         {3, 2, 2, 5},
                         {3, 2, 2, 5, reference::ActorValue::mean},
                         {2, 1, 3, 7}};

TEST(SacTwinFormulas, CriticGradientEqualsFiniteDifferences) {
  Rng rng(4, Purpose::test, 0, 0);
  for (const Shape& shape : kShapes) {
    Sac sac = random_sac(shape, rng);
    const ContinuousBatch batch = random_continuous_batch(shape.rows, 3, shape.actions, rng);
    const Doubles y = sac.critic_targets(batch, random_doubles(shape.rows * shape.actions, rng));
    for (Learnt& critic : sac.critics) {
      Doubles gradient(critic.p.size(), 0.0);
      const auto loss = [&] {
        Doubles unused(critic.p.size(), 0.0);
        return critic_loss(critic, shape.quantiles > 0, batch, y, unused);
      };
      critic_loss(critic, shape.quantiles > 0, batch, y, gradient);
      EXPECT_GT(std::abs(std::accumulate(gradient.begin(), gradient.end(), 0.0)), 1e-6);
      expect_gradient(critic.p, gradient, loss);
    }
  }
}

// Through the critics, the action and the log probability into the actor.
TEST(SacTwinFormulas, ActorGradientEqualsFiniteDifferences) {
  Rng rng(5, Purpose::test, 0, 0);
  for (const Shape& shape : kShapes) {
    Sac sac = random_sac(shape, rng);
    const ContinuousBatch batch = random_continuous_batch(shape.rows, 3, shape.actions, rng);
    const Doubles eps = random_doubles(shape.rows * shape.actions, rng);
    const auto loss = [&] {
      Doubles unused(sac.actor.p.size(), 0.0), log_p;
      return sac.actor_loss(batch, eps, unused, log_p);
    };
    Doubles gradient(sac.actor.p.size(), 0.0), log_p;
    sac.actor_loss(batch, eps, gradient, log_p);
    EXPECT_GT(std::abs(std::accumulate(gradient.begin(), gradient.end(), 0.0)), 1e-6);
    expect_gradient(sac.actor.p, gradient, loss);
  }
}

// L = -log alpha mean(log p + target entropy) as a function of log alpha.
TEST(SacTwinFormulas, TemperatureGradientEqualsFiniteDifferences) {
  Sac sac = worked_sac({.target_entropy = -1.5}, {{0}});
  const Doubles log_p = {-0.3, 2.5, 0.9};
  Doubles p = {sac.log_alpha};
  const auto loss = [&] {
    double sum = 0;
    for (double one : log_p) sum -= p[0] * (one - 1.5) / 3;
    return sum;
  };
  expect_gradient(p, {sac.alpha_gradient(log_p)}, loss);
}

}  // namespace
}  // namespace hotloop::formulas
