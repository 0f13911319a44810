// The slow twin of td3: cases worked by hand, and finite differences of whole losses.
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "reference/td3.hpp"
#include "tests/algo/common/continuous/differences.hpp"
#include "tests/algo/common/continuous/random_twin.hpp"

namespace hotloop::formulas {
namespace {

using reference::ContinuousBatch;
using reference::Doubles;
using reference::Learnt;
using reference::Td3;
using reference::Td3Settings;

// Outputs that are linear in the inputs: weight for every input, and a bias.
Learnt linear_network(int inputs, double weight, const Doubles& biases) {
  const Structure net = make_mlp(inputs, static_cast<int>(biases.size()), {.hidden = {}});
  Doubles p(net.storage, 0.0);
  const TensorInfo w = tensors(net)[0], b = tensors(net)[1];
  for (int o = 0; o < net.outputs; ++o) {
    for (int i = 0; i < inputs; ++i) p[w.offset + o * w.stride + i] = weight;
    p[b.offset + o] = biases[o];
  }
  return {net, p, {}};
}

// tanh(0.5) = 0.4621171572600098 and tanh(2) = 0.9640275800758169 (mpmath). sigma = 0.2, c = 0.3.
TEST(Td3TwinFormulas, SmoothedActionsAreClippedTwice) {
  const Td3 td3({.sigma = 0.2, .noise_clip = 0.3}, linear_network(1, 0, {0.5, 2, -2}),
                {linear_network(4, 0, {0})});
  const Doubles none = td3.smoothed_action({0}, {0, 0, 0});
  EXPECT_NEAR(none[0], 0.4621171572600098, 1e-15);
  EXPECT_NEAR(none[1], 0.9640275800758169, 1e-15);
  const Doubles some = td3.smoothed_action({0}, {1, -1, 0.1});
  EXPECT_NEAR(some[0], 0.6621171572600098, 1e-15);
  EXPECT_NEAR(some[1], 0.7640275800758169, 1e-15);
  EXPECT_NEAR(some[2], -0.9440275800758169, 1e-15);
  const Doubles large = td3.smoothed_action({0}, {-9, 9, -9});
  EXPECT_NEAR(large[0], 0.1621171572600098, 1e-15);  // the noise is clipped
  EXPECT_EQ(large[1], 1);                            // and the action
  EXPECT_EQ(large[2], -1);
}

// s' = 2 and a' = tanh(0.5) + 0.3 clipped noise; Q = 0.1 (s + a) + bias.
TEST(Td3TwinFormulas, TargetIsTheMinimum) {
  const ContinuousBatch batch{.size = 2,
                              .obs = {0, 0},
                              .next_obs = {2, 2},
                              .actions = {0, 0},
                              .rewards = {3, 4},
                              .discounts = {0.5, 0}};
  const double q = 0.1 * (2 + 0.4621171572600098 + 0.3);
  for (const int critics : {1, 2, 5}) {
    std::vector<Learnt> networks;
    for (int k = 0; k < critics; ++k)
      networks.push_back(linear_network(2, 0.1, {k == 3 ? -4.0 : 2.0 - k}));
    const Td3 td3({.sigma = 0.2, .noise_clip = 0.3, .reward_factor = 0.1},
                  linear_network(1, 0, {0.5}), networks);
    const double least = critics == 5 ? -4 : critics == 2 ? 1 : 2;
    const Doubles y = td3.critic_targets(batch, {9, 9});
    EXPECT_NEAR(y[0], 0.3 + 0.5 * (q + least), 1e-14);
    EXPECT_DOUBLE_EQ(y[1], 0.4);  // ended
  }
}

Td3 random_td3(const Td3Settings& settings, int actions, int critics, Rng& rng,
               double dropout = 0) {
  NetOptions options{
      .hidden = {7, 5}, .activation = Activation::tanh, .batch_norm = settings.crossq};
  const Structure actor = make_mlp(3, actions, options);
  options.dropout = dropout;
  const Structure critic = make_mlp(3 + actions, 1, options);
  std::vector<Learnt> networks;
  for (int k = 0; k < critics; ++k)
    networks.emplace_back(critic, random_parameters(critic, rng), OptimiserOptions{});
  Td3 td3(settings, Learnt(actor, random_parameters(actor, rng), {}), networks);
  forget_passes(actor, td3.actor.p);
  for (Learnt& one : td3.critics) forget_passes(critic, one.p);
  return td3;
}

TEST(Td3TwinFormulas, ActorAndTargetsWaitForTheDelay) {
  Rng rng(6, Purpose::test, 0, 0);
  Td3 td3 = random_td3({.delay = 3, .tau = 0.25}, 2, 2, rng);
  const ContinuousBatch batch = random_continuous_batch(4, 3, 2, rng);
  const Doubles eps = random_doubles(8, rng);
  for (int update = 1; update <= 6; ++update) {
    const Td3 before = td3;
    td3.update(batch, eps);
    EXPECT_NE(td3.critics[0].p, before.critics[0].p);
    EXPECT_NE(td3.critics[1].p, before.critics[1].p);
    const bool due = update % 3 == 0;
    EXPECT_EQ(td3.actor.p != before.actor.p, due) << update;
    EXPECT_EQ(td3.actor_target != before.actor_target, due) << update;
    EXPECT_EQ(td3.targets[0] != before.targets[0], due) << update;
    for (std::size_t i = 0; i < td3.actor.p.size() && due; ++i)
      EXPECT_NEAR(td3.actor_target[i], 0.75 * before.actor_target[i] + 0.25 * td3.actor.p[i],
                  1e-15);
  }
}

TEST(Td3TwinFormulas, CriticGradientEqualsFiniteDifferences) {
  Rng rng(7, Purpose::test, 0, 0);
  for (const int actions : {1, 2, 6}) {
    Td3 td3 = random_td3({}, actions, 2, rng);
    const ContinuousBatch batch = random_continuous_batch(4, 3, actions, rng);
    const Doubles y = td3.critic_targets(batch, random_doubles(4 * actions, rng));
    for (Learnt& critic : td3.critics) {
      Doubles gradient(critic.p.size(), 0.0);
      critic_loss(critic, false, batch, y, gradient);
      EXPECT_GT(std::abs(std::accumulate(gradient.begin(), gradient.end(), 0.0)), 1e-6);
      expect_gradient(critic.p, gradient, [&] {
        Doubles unused(critic.p.size(), 0.0);
        return critic_loss(critic, false, batch, y, unused);
      });
    }
  }
}

TEST(Td3TwinFormulas, ActorGradientEqualsFiniteDifferences) {
  Rng rng(8, Purpose::test, 0, 0);
  for (const int actions : {1, 2, 6}) {
    for (const auto& [crossq, dropout] : {std::pair{false, 0.0}, {true, 0.0}, {false, 0.3}}) {
      Td3 td3 = random_td3({.crossq = crossq}, actions, 2, rng, dropout);
      const reference::Masks masks = dropout > 0 ? some_masks() : reference::Masks{};
      const ContinuousBatch batch = random_continuous_batch(4, 3, actions, rng);
      Doubles gradient(td3.actor.p.size(), 0.0);
      td3.actor_loss(batch, gradient, masks);
      EXPECT_GT(std::abs(std::accumulate(gradient.begin(), gradient.end(), 0.0)), 1e-6);
      expect_gradient(td3.actor.p, gradient, [&] {
        Doubles unused(td3.actor.p.size());
        return td3.actor_loss(batch, unused, masks);
      });
    }
  }
}

}  // namespace
}  // namespace hotloop::formulas
