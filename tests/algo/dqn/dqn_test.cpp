#include "algo/dqn/dqn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/dqn.hpp"
#include "tests/algo/agent_specs.hpp"

namespace hotloop {
namespace {

// A batch made by hand or at random, which owns its arrays.
struct OwnedBatch {
  std::vector<float> obs, next_obs, rewards, discounts;
  std::vector<std::int32_t> actions;
  std::vector<std::uint8_t> next_mask{}, mask{};
  std::vector<float> weights{};

  Batch view() const {
    return {.size = static_cast<int>(rewards.size()),
            .obs = obs.data(),
            .next_obs = next_obs.data(),
            .actions = actions.data(),
            .rewards = rewards.data(),
            .discounts = discounts.data(),
            .weights = weights.empty() ? nullptr : weights.data(),
            .mask = mask.empty() ? nullptr : mask.data(),
            .next_mask = next_mask.empty() ? nullptr : next_mask.data()};
  }
};

OwnedBatch random_batch(int size, int inputs, int actions, Rng& rng, bool masks = false,
                        bool weights = false) {
  OwnedBatch b;
  for (int i = 0; i < size * inputs; ++i) {
    b.obs.push_back(static_cast<float>(rng.normal()));
    b.next_obs.push_back(static_cast<float>(rng.normal()));
  }
  for (int i = 0; i < size; ++i) {
    b.rewards.push_back(static_cast<float>(rng.normal()));
    b.discounts.push_back(rng.below(5) == 0 ? 0.0f : 0.9f);
    b.actions.push_back(static_cast<std::int32_t>(rng.below(actions)));
    if (weights) b.weights.push_back(static_cast<float>(rng.uniform(0.1, 1)));
    if (!masks) continue;
    for (int a = 0; a < actions; ++a) {
      b.next_mask.push_back(static_cast<std::uint8_t>(rng.below(2)));
      b.mask.push_back(b.actions[i] == a ? 1 : static_cast<std::uint8_t>(rng.below(2)));
    }
    b.next_mask[i * actions + rng.below(actions)] = 1;
  }
  return b;
}

// The shared batch of SLM-Lab's specification (check 1): states are one-hot, so that a network
// without hidden layers holds the table of Q-values as its weights. SGD with rate 1 shows the
// gradient. States 0 to 2 are s, 3 to 5 are s'.
struct WorkedExample {
  Structure net = make_mlp(6, 2, {.hidden = {}});
  const DenseLayer& layer = std::get<DenseLayer>(net.layers[0]);
  OwnedBatch batch{.obs = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
                   .next_obs = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1},
                   .rewards = {1, 0, -1},
                   .discounts = {0.9f, 0.9f, 0},
                   .actions = {1, 0, 0}};
  ThreadTeam team{1};

  Dqn make(const DqnOptions& options) const {
    Dqn dqn(net, agent(options, {.learn = {.batch = 3}, .optimiser = {.kind = OptimiserKind::sgd}}),
            1);
    std::fill(dqn.online().begin(), dqn.online().end(), 0.0f);
    std::fill(dqn.target().begin(), dqn.target().end(), 0.0f);
    const float online[6][2] = {{1.0f, 2.0f}, {0.5f, -0.5f}, {3.0f, 1.0f},
                                {2.0f, 4.0f}, {1.0f, 3.0f},  {9.0f, 9.0f}};
    const float target[3][2] = {{5.0f, 1.0f}, {2.0f, 2.5f}, {7.0f, 8.0f}};
    for (int s = 0; s < 6; ++s) {
      for (int a = 0; a < 2; ++a) dqn.online()[weight(s, a)] = online[s][a];
    }
    for (int s = 3; dqn.has_target() && s < 6; ++s) {
      for (int a = 0; a < 2; ++a) dqn.target()[weight(s, a)] = target[s - 3][a];
    }
    return dqn;
  }
  std::size_t weight(int s, int a) const { return layer.weight + a * layer.stride + s; }

  void check(const DqnOptions& options, double expected_loss, const std::vector<double>& gradient,
             const std::vector<double>& errors) {
    Dqn dqn = make(options);
    const std::vector<float> before(dqn.online().begin(), dqn.online().end());
    const std::vector<float> target(dqn.target().begin(), dqn.target().end());
    const QReport report = dqn.update(batch.view(), 1.0, team);
    EXPECT_NEAR(report.loss, expected_loss, 1e-6);
    EXPECT_NEAR(report.mean_q, (2.0 + 0.5 + 3.0) / 3, 1e-6);
    for (int s = 0; s < 3; ++s) {
      const int taken = batch.actions[s];
      EXPECT_NEAR(before[weight(s, taken)] - dqn.online()[weight(s, taken)], gradient[s], 1e-6)
          << s;
      EXPECT_NEAR(dqn.errors()[s], std::abs(errors[s]), 1e-6) << s;
      EXPECT_EQ(before[weight(s, 1 - taken)], dqn.online()[weight(s, 1 - taken)])
          << "the action not taken";
      for (int a = 0; a < 2; ++a) {
        EXPECT_EQ(before[weight(s + 3, a)], dqn.online()[weight(s + 3, a)]) << "no gradient via s'";
      }
    }
    EXPECT_EQ(target, std::vector<float>(dqn.target().begin(), dqn.target().end()));
  }
};

TEST(Dqn, WorkedNumbersWithoutTargetNetwork) {
  const std::vector<double> errors = {2.6, 2.2, -4};
  WorkedExample().check({.loss = Loss::mse, .target = {.every = 0}}, 9.2,
                        {-1.733333, -1.466667, 2.666667}, errors);
  WorkedExample().check({.loss = Loss::huber, .target = {.every = 0}}, 2.433333,
                        {-0.333333, -0.333333, 0.333333}, errors);
}
TEST(Dqn, WorkedNumbersWithTargetNetwork) {
  const std::vector<double> errors = {3.5, 1.75, -4};
  WorkedExample().check({.loss = Loss::mse}, 10.4375, {-2.333333, -1.166667, 2.666667}, errors);
  WorkedExample().check({.loss = Loss::huber}, 2.583333, {-0.333333, -0.333333, 0.333333}, errors);
}
TEST(Dqn, WorkedNumbersWithDouble) {
  const std::vector<double> errors = {-0.1, 1.75, -4};
  WorkedExample().check({.loss = Loss::mse, .double_q = true}, 6.3575,
                        {0.066667, -1.166667, 2.666667}, errors);
  WorkedExample().check({.loss = Loss::huber, .double_q = true}, 1.585,
                        {0.033333, -0.333333, 0.333333}, errors);
}

// By hand, at temperature 1. The target network gives 0, 0 for every s, so log pi = -ln 2 =
// -0.693147, and 0.9 of it is -0.623832. V(s') = 5 + ln(1 + e^-4) = 5.018150 and 2.5 + ln(1 +
// e^-0.5) = 2.974077. So y = 1 - 0.623832 + 0.9 * 5.018150 = 4.892503, 2.052837, and -1.623832
// where the episode ended.
TEST(Dqn, WorkedNumbersOfMunchausen) {
  DqnOptions options{.loss = Loss::mse, .munchausen = {.alpha = 0.9, .temperature = 1}};
  WorkedExample().check(options, 10.719233, {-1.928335, -1.035225, 3.082555},
                        {2.8925025, 1.5528368, -4.6238325});
  options.munchausen.clip = -0.5;  // clips -0.693147: the bonus is -0.45
  WorkedExample example;
  Dqn clipped = example.make(options);
  clipped.update(example.batch.view(), 0, example.team);
  EXPECT_NEAR(clipped.errors()[0], 3.066335, 1e-6);
  EXPECT_NEAR(clipped.errors()[2], 4.45, 1e-6);
}

// As the temperature goes to zero, V(s') becomes the maximum.
TEST(Dqn, MunchausenWithoutItsBonusIsDqnAtTemperatureZero) {
  WorkedExample example;
  Dqn soft = example.make({.loss = Loss::mse, .munchausen = {.alpha = 1e-30, .temperature = 1e-3}});
  soft.update(example.batch.view(), 0, example.team);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(soft.errors()[i], std::vector<double>({3.5, 1.75, 4})[i], 1e-6);
}

// Importance weights multiply each row's loss and gradient: (.5 * 12.25 + .25 * 3.0625 + 16) / 3 by
// hand from the target-network column above.
TEST(Dqn, WorkedNumbersWithWeights) {
  WorkedExample example;
  example.batch.weights = {0.5f, 0.25f, 1.0f};
  example.check({.loss = Loss::mse}, (0.5 * 12.25 + 0.25 * 3.0625 + 16) / 3,
                {-2.333333 / 2, -1.166667 / 4, 2.666667}, {3.5, 1.75, -4});
}

// A masked next action is neither chosen nor valued: with action 0 of row 1 forbidden, the target
// network's maximum is 1 (y = 1.9), and so is Double's choice where action 1 is forbidden (y =
// 5.5).
TEST(Dqn, MasksTheTargetsMaximumAndDoublesChoice) {
  WorkedExample example;
  example.batch.next_mask = {0, 1, 1, 1, 1, 1};
  Dqn plain = example.make({.loss = Loss::mse});
  plain.update(example.batch.view(), 0, example.team);
  EXPECT_NEAR(plain.errors()[0], 0.1, 1e-6);
  example.batch.next_mask = {1, 0, 1, 1, 1, 1};
  Dqn doubled = example.make({.loss = Loss::mse, .double_q = true});
  doubled.update(example.batch.view(), 0, example.team);
  EXPECT_NEAR(doubled.errors()[0], 3.5, 1e-6);
}

// Steps along the gradient of the squared error.
AgentSpec plain_steps(const LearningOptions& learn) {
  return agent(DqnOptions{.loss = Loss::mse},
               {.learn = learn, .optimiser = {.kind = OptimiserKind::sgd}});
}

// Check 7: two one-sample batches with targets 1 then 3, one weight, rate 0.1: sequential = 0.76.
TEST(Dqn, UpdatesAreSequential) {
  const Structure net = make_mlp(1, 1, {.hidden = {}});
  Dqn dqn(net, plain_steps({.batch = 1}), 1);
  std::fill(dqn.online().begin(), dqn.online().end(), 0.0f);
  ThreadTeam team(1);
  for (float target : {1.0f, 3.0f}) {  // the observation is 0, so Q is the bias alone
    const OwnedBatch batch{{0}, {0}, {target}, {0}, {0}};
    dqn.update(batch.view(), 0.1, team);
  }
  EXPECT_NEAR(dqn.online()[std::get<DenseLayer>(net.layers[0]).bias], 0.76, 1e-6);
}

// The same with gradient accumulation: one update on the mean gradient, 0.4.
TEST(Dqn, AccumulationIsTheMeanOfItsBatches) {
  const Structure net = make_mlp(1, 1, {.hidden = {}});
  Dqn dqn(net, plain_steps({.batch = 1, .accumulate = 2}), 1);
  std::fill(dqn.online().begin(), dqn.online().end(), 0.0f);
  ThreadTeam team(1);
  const OwnedBatch one{{0}, {0}, {1}, {0}, {0}}, three{{0}, {0}, {3}, {0}, {0}};
  const std::vector<Batch> both = {one.view(), three.view()};
  const UpdateReport report = dqn.update(both, 0.1, 0, team);
  EXPECT_NEAR(dqn.online()[std::get<DenseLayer>(net.layers[0]).bias], 0.4, 1e-6);
  EXPECT_NEAR(report.loss, (1 + 9) / 2.0, 1e-6);
  EXPECT_NEAR(dqn.errors()[1], 3, 1e-6);
}

// Check 8: r = 1, gamma = 0.99, value of the true next state 50, of the reset state 5. The test
// uses the replay, because a wrong next state would come from there.
TEST(Dqn, TruncationBootstrapsFromTheFinalObservation) {
  for (const bool terminated : {false, true}) {
    Replay replay(
        {.lanes = 1, .obs = 1, .actions = 1, .max_steps = 1, .capacity = 4, .gamma = 0.99}, 1);
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
    Dqn dqn(net, plain_steps({.batch = 1}), 1);
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
  Dqn blend(net, agent(DqnOptions{.target = {.tau = 0.1}}), 1);
  std::fill(blend.online().begin(), blend.online().end(), 3.0f);
  std::fill(blend.target().begin(), blend.target().end(), 1.0f);
  blend.sync_target();
  EXPECT_NEAR(blend.target()[0], 1.2, 1e-6);  // check 5
  Dqn copy(net, agent(DqnOptions{}), 1);
  std::fill(copy.online().begin(), copy.online().end(), 3.0f);
  copy.sync_target();
  EXPECT_EQ(copy.target()[0], 3.0f);
}

// 1,000 full updates of each variant against the naive twin in double precision, including target
// copies: batching and fusing do not change the algorithm.
TEST(Dqn, StaysWithItsSlowTwinOverAThousandUpdates) {
  struct Case {
    const char* name;
    DqnOptions options;
    bool dueling = false, layer_norm = false, noisy = false;
    GraphOptions graph = {};
  };
  const GraphOptions graph{
      .kind = GraphKind::small_world, .hidden = {10}, .degree = 5, .activate_outputs = true};
  const std::vector<Case> cases = {
      {"mse", {.loss = Loss::mse}},
      {"huber", {.loss = Loss::huber}},
      {"vanilla", {.loss = Loss::huber, .target = {.every = 0}}},
      {"double", {.loss = Loss::mse, .double_q = true}},
      {"dueling", {.loss = Loss::huber, .double_q = true}, true},
      {"munchausen", {.loss = Loss::huber, .munchausen = {.alpha = 0.9, .temperature = 0.3}}},
      {"layer norm", {.loss = Loss::huber}, false, true},
      {"c51",
       {.double_q = true, .head = {.kind = HeadKind::c51, .atoms = 9, .v_min = -5, .v_max = 5}},
       true},
      {"quantile", {.head = {.kind = HeadKind::quantile, .atoms = 7}}},
      {"noisy", {.loss = Loss::huber, .double_q = true}, true, false, true},
      {"graph", {.loss = Loss::mse}, false, false, false, graph},
      {"dueling graph",
       {.head = {.kind = HeadKind::quantile, .atoms = 2}},
       true,
       false,
       false,
       graph},
  };
  for (const Case& c : cases) {
    const Structure net = make_mlp(4, 3,
                                   {.hidden = {24, 16},
                                    .activation = Activation::tanh,
                                    .layer_norm = c.layer_norm,
                                    .dueling = c.dueling,
                                    .noisy = c.noisy ? Noisy::all : Noisy::none,
                                    .graph = c.graph},
                                   make_head(c.options.head, 3).atoms);
    const AgentSpec spec =
        agent(c.options, {.learn = {.batch = 21}, .optimiser = {.max_grad_norm = 1.0f}});
    Dqn fast(net, spec, 5);
    reference::Dqn<double> slow(net, spec, fast.online(), 5);
    ThreadTeam team(1);
    Rng rng(4, Purpose::test, 0, 0);
    for (int u = 0; u < 1000; ++u) {
      const OwnedBatch batch = random_batch(21, 4, 3, rng, true, true);
      const Batch view = batch.view();
      const double loss_fast = fast.update({&view, 1}, 1e-3, u, team).loss;
      const double loss_slow = slow.update(view, 1e-3, u);
      ASSERT_NEAR(loss_fast, loss_slow, 2e-3 * (1 + loss_slow)) << c.name << ", update " << u;
      if (fast.has_target() && u % 50 == 0) {
        fast.sync_target();
        slow.target = slow.online;
      }
    }
    for (std::size_t i = 0; i < net.storage; ++i)
      ASSERT_NEAR(fast.online()[i], slow.online[i], 4e-3) << c.name << " " << i;
  }
}

// Both s and s' are normalised, for the network that selects the action and for the one that
// evaluates it.
TEST(Dqn, NormalisesBothStates) {
  const std::vector<float> mean = {2, -1, 0.5f, 3}, factor = {0.5f, 2, 1, 0.25f};
  const InputScale scale{mean.data(), factor.data()};
  for (const bool double_q : {false, true}) {
    const AgentSpec spec =
        agent(DqnOptions{.loss = Loss::mse, .double_q = double_q}, {.learn = {.batch = 21}});
    const Structure net = make_mlp(4, 3, {.hidden = {24}, .activation = Activation::tanh});
    Dqn fast(net, spec, 5, &scale);
    reference::Dqn<double> slow(net, spec, fast.online(), 5);
    ThreadTeam team(1);
    Rng rng(4, Purpose::test, 0, 0);
    for (int u = 0; u < 50; ++u) {
      OwnedBatch batch = random_batch(21, 4, 3, rng);
      const Batch given = batch.view();
      const double loss_fast = fast.update({&given, 1}, 1e-3, u, team).loss;
      OwnedBatch scaled = batch;
      for (int i = 0; i < 21 * 4; ++i) {
        for (auto* obs : {&scaled.obs, &scaled.next_obs})
          (*obs)[i] = ((*obs)[i] - mean[i % 4]) * factor[i % 4];
      }
      ASSERT_NEAR(loss_fast, slow.update(scaled.view(), 1e-3, u), 1e-4) << "update " << u;
      if (u % 10 == 0) {
        fast.sync_target();
        slow.target = slow.online;
      }
    }
  }
}

TEST(Dqn, SeveralBlendsAtOnceEqualSequentialOnes) {
  const Structure net = make_mlp(2, 2, {.hidden = {3}});
  const AgentSpec spec = agent(DqnOptions{.target = {.tau = 0.3}});
  Dqn once(net, spec, 1), thrice(net, spec, 1);
  for (Dqn* dqn : {&once, &thrice}) {
    for (float& p : dqn->online()) p += 1;
  }
  once.sync_target(3);
  for (int i = 0; i < 3; ++i) thrice.sync_target();
  for (std::size_t i = 0; i < net.storage; ++i)
    ASSERT_NEAR(once.target()[i], thrice.target()[i], 1e-6) << i;
  EXPECT_NEAR(once.online()[0] - once.target()[0], 0.7 * 0.7 * 0.7, 1e-6);
}

TEST(Dqn, FrozenBiasesOfAGraphStay) {
  for (const bool train : {false, true}) {
    const GraphOptions graph{
        .kind = GraphKind::small_world, .hidden = {10}, .degree = 5, .train_biases = train};
    const Structure net = make_mlp(4, 3, {.activation = Activation::leaky_relu, .graph = graph});
    const auto& layer = std::get<DagLayer>(net.layers[0]);
    Dqn dqn(net, agent(DqnOptions{}, {.learn = {.batch = 40}, .init = Initialiser::small_world}),
            5);
    const std::vector<float> before(dqn.online().begin(), dqn.online().end());
    ThreadTeam team(1);
    Rng rng(4, Purpose::test, 0, 0);
    for (int u = 0; u < 5; ++u) dqn.update(random_batch(40, 4, 3, rng).view(), 1e-3, team);
    for (std::size_t i = 0; i < net.storage; ++i) {
      const bool bias = i >= layer.bias && i < layer.bias + layer.computed();
      const bool weight = i < layer.weight + layer.graph->edges();
      EXPECT_EQ(dqn.online()[i] != before[i], weight || (bias && train)) << i;
    }
  }
}

TEST(Dqn, ResultDoesNotDependOnThreads) {
  const Structure net = make_mlp(4, 3, {.hidden = {64, 64}});
  AgentSpec spec = agent(DqnOptions{}, {.learn = {.batch = 300}, .envs = 100});
  spec.threads = 4;
  ASSERT_GT(BatchSplit(net, 300, 2).threads, 1);
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 4}) {
    Dqn dqn(net, spec, 5);
    ThreadTeam team(threads);
    Rng rng(4, Purpose::test, 0, 0);
    for (int u = 0; u < 20; ++u) dqn.update(random_batch(300, 4, 3, rng).view(), 1e-3, team);
    results.emplace_back(dqn.online().begin(), dqn.online().end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Dqn, ANonFiniteLossLeavesTheParametersAlone) {
  const Structure net = make_mlp(2, 2, {.hidden = {4}});
  Dqn dqn(net, agent(DqnOptions{}, {.learn = {.batch = 1}}), 1);
  const std::vector<float> before(dqn.online().begin(), dqn.online().end());
  ThreadTeam team(1);
  const OwnedBatch batch{{0, 0}, {0, 0}, {std::nanf("")}, {1}, {0}};
  EXPECT_FALSE(std::isfinite(dqn.update(batch.view(), 1e-3, team).loss));
  EXPECT_EQ(before, std::vector<float>(dqn.online().begin(), dqn.online().end()));
}

}  // namespace
}  // namespace hotloop
