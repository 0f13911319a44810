// The fast TD3 and DDPG against their slow twin, over shapes and settings: whole updates with Adam.
#include <gtest/gtest.h>

#include <functional>

#include "algo/td3/td3.hpp"
#include "reference/td3.hpp"
#include "tests/algo/agent_specs.hpp"
#include "tests/algo/common/continuous/comparison.hpp"

namespace hotloop::comparison {
namespace {

constexpr std::uint64_t kTd3Seed = 78;

Td3Options td3_options(const Shape& shape) {
  Td3Options o;
  o.critics.count = o.critics.in_target = shape.critics;
  o.critics.actor_value = ActorValue::first;
  o.tau = 0.25;
  o.policy_delay = 1 + shape.number % 3;
  o.target_noise = shape.critics == 1 && shape.number % 2 == 0 ? 0 : 0.3;  // DDPG has none
  o.target_noise_clip = 0.4;
  return o;
}

// Whole updates of all shapes: parameters with their running statistics, and losses. `change` sets
// the options of a shape.
void compare(const std::vector<Shape>& all, int updates, double tolerance, Rng rng,
             const std::function<void(const Shape&, Td3Options&)>& change = {}) {
  ThreadTeam team(1);
  double worst = 0, worst_loss = 0;
  for (const Shape& shape : all) {
    SCOPED_TRACE(shape.name());
    Td3Options o = td3_options(shape);
    if (change) change(shape, o);
    const bool has_targets = !o.critics.crossq;
    const OptimiserOptions adam = optimiser_options(shape);
    const Structure actor = make_mlp(kObs, shape.actions, actor_options(shape, o.critics));
    const Structure critic = make_mlp(kObs + shape.actions, 1, critic_options(shape, o.critics));
    std::vector<reference::Learnt> critics;
    for (int k = 0; k < shape.critics; ++k)
      critics.emplace_back(critic, random_parameters(critic, rng), adam);
    const float factor = shape.number % 2 == 0 ? 1.0f : 0.375f;
    reference::Td3 twin({.crossq = o.critics.crossq,
                         .sigma = o.target_noise,
                         .noise_clip = o.target_noise_clip,
                         .delay = o.policy_delay,
                         .reward_factor = factor,
                         .tau = o.tau,
                         .actor_rate = kRate,
                         .critic_rate = kRate},
                        reference::Learnt(actor, random_parameters(actor, rng), adam), critics);
    Td3 fast(actor, critic, agent(o, {.learn = {.batch = shape.rows}, .optimiser = adam}),
             kTd3Seed);
    fast.set_reward_factor(factor);
    if (has_targets) twin.actor_target = random_parameters(actor, rng);
    put(twin.actor.p, fast.actor().online());
    put(twin.actor_target, fast.actor_target());
    for (int k = 0; k < shape.critics; ++k) {
      if (has_targets) twin.targets[k] = random_parameters(critic, rng);
      put(twin.critics[k].p, fast.critics().network(k).online());
      put(twin.targets[k], fast.critics().target(k));
    }
    for (int index = 0; index < updates; ++index) {
      SCOPED_TRACE("update " + std::to_string(index));
      const reference::ContinuousBatch batch =
          random_continuous_batch(shape.rows, kObs, shape.actions, rng, shape.number % 3 != 0);
      const Doubles eps =
          noise(shape.rows, shape.actions, kTd3Seed, index, [](int block) { return 1 + block; });
      const auto expected = twin.update(batch, eps, masks(o.critics, kTd3Seed, index));
      const FloatBatch floats(batch);
      const Td3Report report =
          fast.update(floats.view(), {.actor = kRate, .critics = kRate}, index, team);
      expect_equal(fast.actor().online(), twin.actor.p, tolerance, "actor", worst);
      expect_equal(fast.actor_target(), twin.actor_target, tolerance, "actor target", worst);
      double loss = 0;
      for (int k = 0; k < shape.critics; ++k) {
        const std::string which = std::to_string(k);
        expect_equal(fast.critics().network(k).online(), twin.critics[k].p, tolerance,
                     "critic " + which, worst);
        expect_equal(fast.critics().target(k), twin.targets[k], tolerance, "target " + which,
                     worst);
        loss += expected.critics[k] / shape.critics;
      }
      EXPECT_NEAR(report.loss, loss, 10 * tolerance * (1 + loss));
      worst_loss = std::max(worst_loss, std::abs(report.loss - loss) / (1 + loss));
      if (twin.updates % o.policy_delay != 0) continue;
      EXPECT_NEAR(report.actor_loss, expected.actor,
                  10 * tolerance * (1 + std::abs(expected.actor)));
    }
  }
  testing::Test::RecordProperty("largest_parameter_error", testing::PrintToString(worst));
  testing::Test::RecordProperty("largest_loss_error", testing::PrintToString(worst_loss));
}

TEST(Td3AgainstTwin, WholeUpdates) { compare(shapes({0}), 4, 1e-6, Rng(31, Purpose::test, 0, 0)); }

// The warm-up of batch renormalisation ends in half of the networks.
TEST(Td3AgainstTwin, CrossQ) {
  compare(shapes({0}, {32, 64, 160}), 5, 4e-6, Rng(32, Purpose::test, 0, 0),
          [](const Shape&, Td3Options& o) { o.critics.crossq = true; });
}

// Also over more rows than are in the cache at once.
TEST(Td3AgainstTwin, Dropout) {
  compare(shapes({0}, {7, 33, 200}), 5, 2e-6, Rng(33, Purpose::test, 0, 0),
          [](const Shape& shape, Td3Options& o) {
            o.critics.dropout = shape.number % 2 == 0 ? 0.01 : 0.3;
            o.critics.layer_norm = shape.number % 4 < 2;
          });
}

}  // namespace
}  // namespace hotloop::comparison
