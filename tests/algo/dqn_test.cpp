#include "algo/dqn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/dqn.hpp"

namespace hotloop {
namespace {

// Batches made by hand or at random, with arrays that live as long as the test.
struct OwnedBatch {
  std::vector<float> obs, next_obs, rewards, discounts;
  std::vector<std::int32_t> actions;
  std::vector<std::uint8_t> next_mask;

  Batch view() const {
    return {static_cast<int>(rewards.size()),
            obs.data(),
            next_obs.data(),
            actions.data(),
            rewards.data(),
            discounts.data(),
            nullptr,
            next_mask.empty() ? nullptr : next_mask.data()};
  }
};

OwnedBatch random_batch(int size, const Structure& net, Rng& rng, bool masks = false) {
  OwnedBatch b;
  for (int i = 0; i < size * net.inputs; ++i) {
    b.obs.push_back(static_cast<float>(rng.normal()));
    b.next_obs.push_back(static_cast<float>(rng.normal()));
  }
  for (int i = 0; i < size; ++i) {
    b.rewards.push_back(static_cast<float>(rng.normal()));
    b.discounts.push_back(rng.below(5) == 0 ? 0.0f : 0.9f);
    b.actions.push_back(static_cast<std::int32_t>(rng.below(net.outputs)));
    if (!masks) continue;
    for (int a = 0; a < net.outputs; ++a)
      b.next_mask.push_back(static_cast<std::uint8_t>(rng.below(2)));
    b.next_mask[i * net.outputs + rng.below(net.outputs)] = 1;
  }
  return b;
}

// The shared batch of SLM-Lab's specification (check 1): states are one-hot, so that a network
// without hidden layers holds the table of Q-values as its weights. SGD with rate 1 shows the
// gradient.
struct WorkedExample {
  Structure net = make_mlp(3, 2, {.hidden = {}});
  OwnedBatch batch{.obs = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                   .next_obs = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                   .rewards = {1, 0, -1},
                   .discounts = {0.9f, 0.9f, 0},
                   .actions = {1, 0, 0},
                   .next_mask = {}};
  ThreadTeam team{1};

  Dqn make(Loss loss) const {
    Dqn dqn(net, Initialiser::pytorch, {.gamma = 0.9, .batch = 3, .loss = loss},
            {.kind = OptimiserKind::sgd}, 1, 1);
    std::fill(dqn.online().begin(), dqn.online().end(), 0.0f);
    std::fill(dqn.target().begin(), dqn.target().end(), 0.0f);
    const float online[3][2] = {{1.0f, 2.0f}, {0.5f, -0.5f}, {3.0f, 1.0f}};
    const float target[3][2] = {{5.0f, 1.0f}, {2.0f, 2.5f}, {7.0f, 8.0f}};
    for (int s = 0; s < 3; ++s) {
      for (int a = 0; a < 2; ++a) {
        dqn.online()[weight(s, a)] = online[s][a];
        dqn.target()[weight(s, a)] = target[s][a];
      }
    }
    return dqn;
  }
  std::size_t weight(int s, int a) const {
    const auto& layer = std::get<DenseLayer>(net.layers[0]);
    return layer.weight + a * layer.stride + s;
  }

  void check(Loss loss, double expected_loss, const std::vector<double>& gradient) {
    Dqn dqn = make(loss);
    const std::vector<float> before(dqn.online().begin(), dqn.online().end());
    const std::vector<float> target(dqn.target().begin(), dqn.target().end());
    const UpdateReport report = dqn.update(batch.view(), 1.0, team);
    EXPECT_NEAR(report.loss, expected_loss, 1e-6);
    EXPECT_NEAR(report.mean_q, (2.0 + 0.5 + 3.0) / 3, 1e-6);
    for (int s = 0; s < 3; ++s) {
      const int taken = batch.actions[s];
      EXPECT_NEAR(before[weight(s, taken)] - dqn.online()[weight(s, taken)], gradient[s], 1e-6)
          << s;
      EXPECT_EQ(before[weight(s, 1 - taken)], dqn.online()[weight(s, 1 - taken)])
          << "the action not taken";
    }
    EXPECT_EQ(target, std::vector<float>(dqn.target().begin(), dqn.target().end()));
  }
};

TEST(Dqn, WorkedNumbersWithSquaredError) {
  WorkedExample().check(Loss::mse, 10.4375, {-2.333333, -1.166667, 2.666667});
}
TEST(Dqn, WorkedNumbersWithHuber) {
  WorkedExample().check(Loss::huber, 2.583333, {-0.333333, -0.333333, 0.333333});
}

// Check 7: two one-sample batches with targets 1 then 3, one weight, rate 0.1: sequential = 0.76.
TEST(Dqn, UpdatesAreSequential) {
  const Structure net = make_mlp(1, 1, {.hidden = {}});
  Dqn dqn(net, Initialiser::pytorch, {.gamma = 0, .batch = 1, .loss = Loss::mse},
          {.kind = OptimiserKind::sgd}, 1, 1);
  std::fill(dqn.online().begin(), dqn.online().end(), 0.0f);
  ThreadTeam team(1);
  for (float target : {1.0f, 3.0f}) {  // the observation is 0, so Q is the bias alone
    const OwnedBatch batch{{0}, {0}, {target}, {0}, {0}, {}};
    dqn.update(batch.view(), 0.1, team);
  }
  EXPECT_NEAR(dqn.online()[std::get<DenseLayer>(net.layers[0]).bias], 0.76, 1e-6);
}

// Check 8: r = 1, gamma = 0.99, value of the true next state 50, of the reset state 5. Through the
// replay, because that is where the wrong next state would come from.
TEST(Dqn, TruncationBootstrapsFromTheFinalObservation) {
  for (const bool terminated : {false, true}) {
    Replay replay({.lanes = 1, .obs = 1, .actions = 1, .max_steps = 1, .capacity = 4}, 1);
    const std::vector<float> reset_obs = {5}, final_obs = {50}, reward = {1};
    const std::vector<std::uint8_t> yes = {1}, no = {0};
    const std::vector<std::int32_t> action = {0};
    replay.begin(std::vector<float>{0}, {});
    replay.push({action,
                 reward,
                 terminated ? yes : no,
                 terminated ? no : yes,
                 reset_obs,
                 {},
                 final_obs,
                 {}});
    replay.sample(1, 1, 1, 0);

    const Structure net = make_mlp(1, 1, {.hidden = {}});
    Dqn dqn(net, Initialiser::pytorch, {.gamma = 0.99, .batch = 1, .loss = Loss::mse},
            {.kind = OptimiserKind::sgd}, 1, 1);
    std::fill(dqn.online().begin(), dqn.online().end(), 0.0f);
    std::fill(dqn.target().begin(), dqn.target().end(), 0.0f);
    dqn.target()[std::get<DenseLayer>(net.layers[0]).weight] = 1;  // Q_target(s) = s
    ThreadTeam team(1);
    const double target = std::sqrt(dqn.update(replay.batch(0), 0, team).loss);  // Q(s) = 0
    EXPECT_NEAR(target, terminated ? 1.0 : 50.5, 1e-5);
  }
}

TEST(Dqn, PolyakWorkedNumberAndHardCopy) {
  const Structure net = make_mlp(1, 1, {.hidden = {}});
  Dqn blend(net, Initialiser::pytorch, {.batch = 1, .target_blend = 0.1}, {}, 1, 1);
  std::fill(blend.online().begin(), blend.online().end(), 3.0f);
  std::fill(blend.target().begin(), blend.target().end(), 1.0f);
  blend.update_target();
  EXPECT_NEAR(blend.target()[0], 1.2, 1e-6);  // check 5
  Dqn copy(net, Initialiser::pytorch, {.batch = 1}, {}, 1, 1);
  std::fill(copy.online().begin(), copy.online().end(), 3.0f);
  copy.update_target();
  EXPECT_EQ(copy.target()[0], 3.0f);
}

// 1,000 whole updates against the naive twin in double precision, target copies included.
TEST(Dqn, StaysWithItsSlowTwinOverAThousandUpdates) {
  for (const Loss loss : {Loss::mse, Loss::huber}) {
    const Structure net = make_mlp(4, 3, {.hidden = {24, 16}, .activation = Activation::tanh});
    const DqnOptions options{.gamma = 0.9, .batch = 21, .loss = loss};
    const OptimiserOptions adam{.clip_norm = 1.0f};
    Dqn fast(net, Initialiser::pytorch, options, adam, 5, 1);
    reference::Dqn<double> slow(net, options, adam, fast.online());
    ThreadTeam team(1);
    Rng rng(4, Purpose::test, 0, 0);
    for (int u = 0; u < 1000; ++u) {
      const OwnedBatch batch = random_batch(21, net, rng, true);
      const double loss_fast = fast.update(batch.view(), 1e-3, team).loss;
      const double loss_slow = slow.update(batch.view(), 1e-3);
      ASSERT_NEAR(loss_fast, loss_slow, 1e-3 * (1 + loss_slow)) << "update " << u;
      if (u % 50 == 0) {
        fast.update_target();
        slow.target = slow.online;
      }
    }
    for (std::size_t i = 0; i < net.storage; ++i)
      ASSERT_NEAR(fast.online()[i], slow.online[i], 2e-3) << i;
  }
}

TEST(Dqn, ResultDoesNotDependOnThreads) {
  const Structure net = make_mlp(4, 3, {.hidden = {32}});
  const DqnOptions options{.batch = 300};  // three shards
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 4}) {
    Dqn dqn(net, Initialiser::pytorch, options, {}, 5, 100);
    ThreadTeam team(threads);
    Rng rng(4, Purpose::test, 0, 0);
    for (int u = 0; u < 20; ++u) dqn.update(random_batch(300, net, rng).view(), 1e-3, team);
    results.emplace_back(dqn.online().begin(), dqn.online().end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Dqn, ANonFiniteLossLeavesTheParametersAlone) {
  const Structure net = make_mlp(2, 2, {.hidden = {4}});
  Dqn dqn(net, Initialiser::pytorch, {.batch = 1}, {}, 1, 1);
  const std::vector<float> before(dqn.online().begin(), dqn.online().end());
  ThreadTeam team(1);
  const OwnedBatch batch{{0, 0}, {0, 0}, {std::nanf("")}, {1}, {0}, {}};
  EXPECT_FALSE(std::isfinite(dqn.update(batch.view(), 1e-3, team).loss));
  EXPECT_EQ(before, std::vector<float>(dqn.online().begin(), dqn.online().end()));
}

// Epsilon-greedy: a draw per environment, masked actions never, the right share of random actions.
TEST(Dqn, ExploresPerEnvironmentWithinTheMask) {
  constexpr int kEnvs = 50, kActions = 4, kSteps = 400;
  const Structure net = make_mlp(3, kActions, {.hidden = {8}});
  Dqn dqn(net, Initialiser::pytorch, {.batch = 1}, {}, 1, kEnvs);
  ThreadTeam team(1);
  Rng rng(6, Purpose::test, 0, 0);
  std::vector<float> obs(kEnvs * 3);
  for (float& x : obs) x = static_cast<float>(rng.normal());
  std::vector<std::uint8_t> mask(kEnvs * kActions, 1);
  for (int i = 0; i < kEnvs; ++i) mask[i * kActions + i % kActions] = 0;
  std::vector<std::int32_t> greedy(kEnvs), actions(kEnvs);
  dqn.act(obs, mask, 0, 0, team, greedy);
  int differing = 0, rows_differing_together = 0;
  for (int t = 0; t < kSteps; ++t) {
    dqn.act(obs, mask, 0.3, t, team, actions);
    int now = 0;
    for (int i = 0; i < kEnvs; ++i) {
      ASSERT_TRUE(mask[i * kActions + actions[i]]) << "masked action taken";
      now += actions[i] != greedy[i];
    }
    differing += now;
    rows_differing_together += now == kEnvs;
  }
  // Of the random actions a third (three allowed) equal the greedy one: 0.3 * 2/3 = 0.2 differ.
  EXPECT_NEAR(differing / double{kEnvs * kSteps}, 0.2, 0.015);
  EXPECT_EQ(rows_differing_together, 0);
}

TEST(Dqn, GreedyActionTakesTheFirstOfEqualsAndRespectsTheMask) {
  std::vector<float> q(3 * kLanes);
  q[0] = 1, q[kLanes] = 2, q[2 * kLanes] = 2;
  const std::uint8_t mask[3] = {1, 0, 1}, only_first[3] = {1, 0, 0};
  EXPECT_EQ(greedy_action(q.data(), 3, nullptr), 1);
  EXPECT_EQ(greedy_action(q.data(), 3, mask), 2);
  EXPECT_EQ(greedy_action(q.data(), 3, only_first), 0);
}

}  // namespace
}  // namespace hotloop
