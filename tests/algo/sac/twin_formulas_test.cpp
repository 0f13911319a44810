// The slow twin of sac: cases worked by hand, and finite differences of whole losses.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string_view>
#include <utility>

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
  reference::Rows d;
  for (const auto& [kind, value] : {std::pair{reference::ActorValue::minimum, -2.0},
                                    {reference::ActorValue::mean, 3.0},
                                    {reference::ActorValue::first, 7.0}}) {
    const Sac sac = worked_sac({.actor_value = kind}, {{7}, {-2}, {4}});
    EXPECT_DOUBLE_EQ(sac.values({{0}}, {{0}}, d)[0], value);
  }
  Sac tqc =
      worked_sac({.quantiles = true, .actor_value = reference::ActorValue::mean}, {{1, 2}, {3, 6}});
  EXPECT_DOUBLE_EQ(tqc.values({{0}}, {{0}}, d)[0], 3);
  tqc.settings.actor_value = reference::ActorValue::minimum;
  EXPECT_DOUBLE_EQ(tqc.values({{0}}, {{0}}, d)[0], 1.5);
}

TEST(SacTwinFormulas, TargetsBlend) {
  Sac sac = worked_sac({.tau = 0.25}, {{8}, {4}});
  sac.targets[0] = constant_network(2, {4}).p;
  sac.blend_targets();
  EXPECT_DOUBLE_EQ(sac.critics[0].outputs_with(sac.targets[0], {0, 0})[0], 5);
  EXPECT_DOUBLE_EQ(sac.critics[0].outputs({0, 0})[0], 8);
}

// Two inputs (s, a), batch norm that has seen nothing, and Q = the sum of its outputs + 1.
Learnt normalised_sum() {
  const Structure net = make_mlp(2, 1, {.hidden = {}, .batch_norm = true});
  Doubles p(net.storage, 0.0);
  for (const TensorInfo& tensor : tensors(net)) {
    const bool zero = tensor.name.ends_with(".shift") || tensor.name.ends_with(".mean") ||
                      tensor.name.ends_with(".passes");
    std::fill_n(p.begin() + static_cast<std::ptrdiff_t>(tensor.offset), tensor.columns,
                zero ? 0.0 : 1.0);
  }
  return {net, p, {}};
}
Doubles tensor_of(const Learnt& learnt, std::string_view end) {
  for (const TensorInfo& tensor : tensors(learnt.net)) {
    const auto first = learnt.p.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
    if (tensor.name.ends_with(end)) return {first, first + tensor.columns};
  }
  return {};
}

// s = 0 and s' = 2 in one pass: mean 1, variance 1, so they become -+1 / sqrt(1.001). a = a' = 0.
// (The engine's epsilon is 1e-3 in single precision.)
TEST(SacTwinFormulas, CrossQNormalisesBothHalvesTogether) {
  const ContinuousBatch batch{
      .size = 1, .obs = {0}, .next_obs = {2}, .actions = {0}, .rewards = {3}, .discounts = {0.5}};
  const double n = 1 / std::sqrt(1.001);
  Sac sac({.crossq = true, .critic_rate = 0}, constant_network(1, {0, 0}), {normalised_sum()},
          std::log(0.5), {});
  const double y = 3 + 0.5 * (1 + n - 0.5 * kLogP);
  EXPECT_NEAR(sac.critic_targets(batch, {0})[0], y, 1e-9);
  const auto losses = sac.update_critics(batch, {0});
  EXPECT_NEAR(losses.critics[0], (1 - n - y) * (1 - n - y) / 2, 1e-9);

  // Running statistics move by 1 %: the mean of s from 0 towards 1, the variance of a from 1
  // towards 0. The actor's critics use them.
  const Doubles mean = tensor_of(sac.critics[0], ".mean");
  const Doubles variance = tensor_of(sac.critics[0], ".variance");
  EXPECT_DOUBLE_EQ(mean[0], 0.01);
  EXPECT_DOUBLE_EQ(mean[1], 0);
  EXPECT_DOUBLE_EQ(variance[0], 1);
  EXPECT_DOUBLE_EQ(variance[1], 0.99);
  EXPECT_EQ(tensor_of(sac.critics[0], ".passes"), Doubles{1});
  reference::Rows d;
  EXPECT_NEAR(sac.values({{2}}, {{0.5}}, d)[0],
              1 + 1.99 / std::sqrt(1.001) + 0.5 / std::sqrt(0.991), 1e-9);
  EXPECT_NEAR(d[0][0], 1 / std::sqrt(0.991), 1e-9);
}

// With dropout, all three passes of all critics drop; in CrossQ only the joint one does.
TEST(SacTwinFormulas, PassesThatDrop) {
  using reference::CriticPass;
  for (const bool crossq : {false, true}) {
    Sac sac = worked_sac({.crossq = crossq}, {{7}, {5}});
    std::set<std::pair<CriticPass, int>> seen;
    const auto masks = [&](CriticPass pass, int k) {
      seen.insert({pass, k});
      return TrainingPass{};
    };
    sac.update(worked_batch(), {0, 0}, {0, 0}, {}, masks);
    std::set<std::pair<CriticPass, int>> expected = {{CriticPass::online, 0},
                                                     {CriticPass::online, 1}};
    for (int k = 0; k < 2 && !crossq; ++k) {
      expected.insert({CriticPass::target, k});
      expected.insert({CriticPass::actor, k});
    }
    EXPECT_EQ(seen, expected);
  }
}

TEST(SacTwinFormulas, ActorWaitsForTheDelay) {
  Sac sac = worked_sac({.delay = 3}, {{7}, {5}});
  for (int update = 1; update <= 6; ++update) {
    const Sac before = sac;
    sac.update(worked_batch(), {0, 0}, {0.5, 0.5});
    EXPECT_EQ(sac.actor.p != before.actor.p, update % 3 == 0) << update;
    EXPECT_EQ(sac.log_alpha != before.log_alpha, update % 3 == 0) << update;
    EXPECT_NE(sac.targets[0], before.targets[0]);
  }
}

struct Shape {
  int rows, actions, critics, quantiles;
  reference::ActorValue value = reference::ActorValue::minimum;
  bool crossq = false;
  double dropout = 0;
  reference::Masks masks() const { return dropout > 0 ? some_masks() : reference::Masks{}; }
};

// Smooth activations: a kink between two points would look like a wrong gradient.
Sac random_sac(const Shape& shape, Rng& rng) {
  NetOptions options{.hidden = {7, 5}, .activation = Activation::tanh, .batch_norm = shape.crossq};
  const Structure actor = make_mlp(3, 2 * shape.actions, options);
  options.dropout = shape.dropout;
  const Structure critic = make_mlp(3 + shape.actions, std::max(shape.quantiles, 1), options);
  std::vector<Learnt> critics;
  for (int k = 0; k < shape.critics; ++k)
    critics.emplace_back(critic, random_parameters(critic, rng), OptimiserOptions{});
  const SacSettings settings{.crossq = shape.crossq,
                             .quantiles = shape.quantiles > 0,
                             .drop = shape.quantiles / 3,
                             .actor_value = shape.value,
                             .reward_factor = 0.7};
  Sac sac(settings, Learnt(actor, random_parameters(actor, rng), {}), critics, -0.5, {});
  forget_passes(actor, sac.actor.p);
  for (Learnt& one : sac.critics) forget_passes(critic, one.p);
  return sac;
}

const Shape kShapes[] = {{1, 1, 1, 0},
                         {4, 2, 2, 0},
                         {3, 6, 5, 0},
                         {3, 2, 3, 0, reference::ActorValue::mean},
                         {3, 2, 3, 0, reference::ActorValue::first},
                         {3, 2, 2, 5},
                         {3, 2, 2, 5, reference::ActorValue::mean},
                         {2, 1, 3, 7},
                         {4, 2, 2, 0, reference::ActorValue::minimum, true},
                         {3, 1, 2, 5, reference::ActorValue::mean, true},
                         {4, 2, 2, 0, reference::ActorValue::minimum, false, 0.3},
                         {3, 1, 2, 5, reference::ActorValue::mean, false, 0.3}};

TEST(SacTwinFormulas, CriticGradientEqualsFiniteDifferences) {
  Rng rng(4, Purpose::test, 0, 0);
  for (const Shape& shape : kShapes) {
    Sac sac = random_sac(shape, rng);
    const ContinuousBatch batch = random_continuous_batch(shape.rows, 3, shape.actions, rng);
    const Doubles eps = random_doubles(shape.rows * shape.actions, rng);
    const Doubles y = sac.critic_targets(batch, eps, {}, shape.masks());
    const reference::CriticPasses passes{shape.crossq, shape.masks()};
    reference::Rows x = taken_rows(batch);
    if (shape.crossq) x = reference::stacked(x, sac.next_states(batch, eps).x);
    for (int k = 0; k < shape.critics; ++k) {
      Learnt& critic = sac.critics[k];
      Doubles gradient(critic.p.size(), 0.0);
      const auto loss = [&] {
        Doubles unused(critic.p.size(), 0.0);
        return critic_loss(critic, shape.quantiles > 0, batch, y, unused, x, passes.online(k));
      };
      critic_loss(critic, shape.quantiles > 0, batch, y, gradient, x, passes.online(k));
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
      return sac.actor_loss(batch, eps, unused, log_p, shape.masks());
    };
    Doubles gradient(sac.actor.p.size(), 0.0), log_p;
    sac.actor_loss(batch, eps, gradient, log_p, shape.masks());
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
