// The fast TD3 and DDPG against their slow twin, over shapes and settings: whole updates with Adam.
#include <gtest/gtest.h>

#include "algo/td3/td3.hpp"
#include "reference/td3.hpp"
#include "tests/algo/agent_specs.hpp"
#include "tests/algo/common/continuous/comparison.hpp"

namespace hotloop::comparison {
namespace {

constexpr std::uint64_t kTd3Seed = 78;

TEST(Td3AgainstTwin, WholeUpdates) {
  Rng rng(31, Purpose::test, 0, 0);
  ThreadTeam team(1);
  double worst = 0, worst_loss = 0;
  for (const Shape& shape : shapes({0})) {
    SCOPED_TRACE(shape.name());
    Td3Options o;
    o.critics.count = o.critics.in_target = shape.critics;
    o.critics.actor_value = ActorValue::first;
    o.tau = 0.25;
    o.policy_delay = 1 + shape.number % 3;
    o.target_noise = shape.critics == 1 && shape.number % 2 == 0 ? 0 : 0.3;  // DDPG has none
    o.target_noise_clip = 0.4;
    const OptimiserOptions adam = optimiser_options(shape);
    const Structure actor = make_mlp(kObs, shape.actions, net_options(shape));
    const Structure critic = make_mlp(kObs + shape.actions, 1, net_options(shape));
    std::vector<reference::Learnt> critics;
    for (int k = 0; k < shape.critics; ++k)
      critics.emplace_back(critic, random_parameters(critic, rng), adam);
    const float factor = shape.number % 2 == 0 ? 1.0f : 0.375f;
    reference::Td3 twin({.sigma = o.target_noise,
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
    twin.actor_target = random_parameters(actor, rng);
    put(twin.actor.p, fast.actor().online());
    put(twin.actor_target, fast.actor_target());
    for (int k = 0; k < shape.critics; ++k) {
      twin.targets[k] = random_parameters(critic, rng);
      put(twin.critics[k].p, fast.critics().network(k).online());
      put(twin.targets[k], fast.critics().target(k));
    }
    for (std::uint64_t index = 0; index < 4; ++index) {
      const reference::ContinuousBatch batch =
          random_continuous_batch(shape.rows, kObs, shape.actions, rng, shape.number % 3 != 0);
      const Doubles eps =
          noise(shape.rows, shape.actions, kTd3Seed, index, [](int block) { return 1 + block; });
      const auto expected = twin.update(batch, eps);
      const FloatBatch floats(batch);
      const Td3Report report =
          fast.update(floats.view(), {.actor = kRate, .critics = kRate}, index, team);
      expect_equal(fast.actor().online(), twin.actor.p, 1e-6, "actor", worst);
      expect_equal(fast.actor_target(), twin.actor_target, 1e-6, "actor target", worst);
      double loss = 0;
      for (int k = 0; k < shape.critics; ++k) {
        const std::string which = std::to_string(k);
        expect_equal(fast.critics().network(k).online(), twin.critics[k].p, 1e-6, "critic " + which,
                     worst);
        expect_equal(fast.critics().target(k), twin.targets[k], 1e-6, "target " + which, worst);
        loss += expected.critics[k] / shape.critics;
      }
      EXPECT_NEAR(report.loss, loss, 1e-5 * (1 + loss));
      worst_loss = std::max(worst_loss, std::abs(report.loss - loss) / (1 + loss));
      if (twin.updates % o.policy_delay != 0) continue;
      EXPECT_NEAR(report.actor_loss, expected.actor, 1e-5 * (1 + std::abs(expected.actor)));
    }
  }
  RecordProperty("largest_parameter_error", testing::PrintToString(worst));
  RecordProperty("largest_loss_error", testing::PrintToString(worst_loss));
}

}  // namespace
}  // namespace hotloop::comparison
