// The fast SAC and TQC against their slow twin, over shapes and settings: whole updates with Adam.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "algo/sac/sac.hpp"
#include "algo/sac/squashed.hpp"
#include "reference/sac.hpp"
#include "tests/algo/agent_specs.hpp"
#include "tests/algo/common/continuous/comparison.hpp"

namespace hotloop::comparison {
namespace {

constexpr std::uint64_t kSacSeed = 77;

SacOptions sac_options(const Shape& shape) {
  SacOptions o;
  o.critics.count = o.critics.in_target = shape.critics;
  o.critics.quantiles = shape.quantiles;
  o.critics.dropped = shape.quantiles / 8;
  o.critics.actor_value = static_cast<ActorValue>(shape.number % 3);
  if (shape.quantiles > 0 && shape.number % 2 == 0) o.critics.actor_value = ActorValue::mean;
  o.tau = 0.25;
  if (shape.number % 4 == 3) o.ent_coef = 0.3;
  o.ent_coef_init = 0.6;
  o.target_entropy = -0.7 * shape.actions;
  return o;
}

// Both, with the same random parameters.
struct SacPair {
  Shape shape;
  SacOptions options;
  Structure actor, critic;
  Sac fast;
  reference::Sac twin;
  float reward_factor;
  double worst = 0;

  SacPair(const Shape& s, const SacOptions& o, Rng& rng)
      : shape(s),
        options(o),
        actor(make_mlp(kObs, 2 * s.actions, actor_options(s, o.critics))),
        critic(make_mlp(kObs + s.actions, o.critics.outputs(), critic_options(s, o.critics))),
        fast(actor, critic,
             agent(o, {.learn = {.batch = s.rows}, .optimiser = optimiser_options(s)}), kSacSeed),
        twin(make_twin(rng)),
        reward_factor(s.number % 2 == 0 ? 1.0f : 0.375f) {
    put(twin.actor.p, fast.actor().online());
    for (int k = 0; k < s.critics; ++k) {
      if (!o.critics.crossq) twin.targets[k] = random_parameters(critic, rng);
      put(twin.critics[k].p, fast.critics().network(k).online());
      put(twin.targets[k], fast.critics().target(k));
    }
    fast.set_reward_factor(reward_factor);
    twin.settings.reward_factor = reward_factor;
  }
  reference::Sac make_twin(Rng& rng) const {
    const reference::SacSettings settings{
        .crossq = options.critics.crossq,
        .quantiles = shape.quantiles > 0,
        .drop = options.critics.dropped,
        .actor_value = static_cast<reference::ActorValue>(options.critics.actor_value),
        .tau = options.tau,
        .delay = options.policy_delay,
        .learns_alpha = std::isnan(options.ent_coef),
        .target_entropy = options.target_entropy,
        .actor_rate = kRate,
        .critic_rate = kRate,
        .alpha_rate = kRate};
    const OptimiserOptions adam = optimiser_options(shape);
    std::vector<reference::Learnt> critics;
    for (int k = 0; k < shape.critics; ++k)
      critics.emplace_back(critic, random_parameters(critic, rng), adam);
    const auto log_alpha = static_cast<float>(
        std::log(settings.learns_alpha ? options.ent_coef_init : options.ent_coef));
    OptimiserOptions alpha_adam = adam;
    alpha_adam.max_grad_norm = 0;  // it is one number
    return {settings, reference::Learnt(actor, random_parameters(actor, rng), adam), critics,
            log_alpha, alpha_adam};
  }

  Doubles noise_of(int pass, std::uint64_t index) const {
    return noise(shape.rows, shape.actions, kSacSeed, index,
                 [pass](int block) { return 1 + 2 * block + pass; });
  }
  reference::Masks masks_of(std::uint64_t index) const {
    return masks(options.critics, kSacSeed, index);
  }
  void copy_to_twin() {
    const auto copy = [](std::span<const float> from, Doubles& to) {
      to.assign(from.begin(), from.end());
    };
    copy(fast.actor().online(), twin.actor.p);
    for (int k = 0; k < shape.critics; ++k) {
      copy(fast.critics().network(k).online(), twin.critics[k].p);
      copy(fast.critics().target(k), twin.targets[k]);
    }
    twin.log_alpha = fast.log_temperature()[0];
  }
  void expect_same(double tolerance) {
    expect_equal(fast.actor().online(), twin.actor.p, tolerance, "actor", worst);
    for (int k = 0; k < shape.critics; ++k) {
      const std::string which = std::to_string(k);
      expect_equal(fast.critics().network(k).online(), twin.critics[k].p, tolerance,
                   "critic " + which, worst);
      expect_equal(fast.critics().target(k), twin.targets[k], tolerance, "target " + which, worst);
    }
    expect_equal(fast.log_temperature(), {twin.log_alpha}, tolerance, "log alpha", worst);
  }
};

// Whole updates of all shapes: parameters with their running statistics, and losses. `change` sets
// the options of a shape.
void compare(const std::vector<Shape>& all, int updates, double tolerance, Rng rng,
             const std::function<void(const Shape&, SacOptions&)>& change = {}) {
  ThreadTeam team(1);
  double worst = 0, worst_loss = 0;
  for (const Shape& shape : all) {
    SCOPED_TRACE(shape.name());
    SacOptions options = sac_options(shape);
    if (change) change(shape, options);
    SacPair pair(shape, options, rng);
    for (int index = 0; index < updates; ++index) {
      SCOPED_TRACE("update " + std::to_string(index));
      const reference::ContinuousBatch batch =
          random_continuous_batch(shape.rows, kObs, shape.actions, rng, shape.number % 3 != 0);
      const double alpha = pair.twin.alpha();
      const auto expected = pair.twin.update(batch, pair.noise_of(0, index),
                                             pair.noise_of(1, index), {}, pair.masks_of(index));
      const FloatBatch floats(batch);
      const SacReport report = pair.fast.update(
          floats.view(), {.actor = kRate, .critics = kRate, .temperature = kRate}, index, team);
      pair.expect_same(tolerance);
      const auto expect_loss = [&](double fast, double twin) {
        EXPECT_NEAR(fast, twin, 10 * tolerance * (1 + std::abs(twin)));
        worst_loss = std::max(worst_loss, std::abs(fast - twin) / (1 + std::abs(twin)));
      };
      double loss = 0, log_p = 0;
      for (double one : expected.critics) loss += one / shape.critics;
      for (double one : expected.log_p) log_p += one / shape.rows;
      expect_loss(report.loss, loss);
      if (pair.twin.updates % options.policy_delay != 0) continue;
      expect_loss(report.actor_loss, expected.actor);
      expect_loss(report.entropy, -log_p);
      expect_loss(report.ent_coef, alpha);
    }
    worst = std::max(worst, pair.worst);
  }
  testing::Test::RecordProperty("largest_parameter_error", testing::PrintToString(worst));
  testing::Test::RecordProperty("largest_loss_error", testing::PrintToString(worst_loss));
}

TEST(SacAgainstTwin, WholeUpdates) {
  compare(shapes({0, 5, 25}), 2, 1e-6, Rng(21, Purpose::test, 0, 0));
}

TEST(SacAgainstTwin, ActorsThatLearnLessOften) {
  compare({{.rows = 9, .actions = 2, .critics = 2, .quantiles = 0}}, 7, 2e-6,
          Rng(22, Purpose::test, 0, 0), [](const Shape&, SacOptions& o) { o.policy_delay = 3; });
}

// The warm-up of batch renormalisation ends in half of the networks; actors learn after every
// update, every second or every third.
TEST(SacAgainstTwin, CrossQ) {
  compare(shapes({0, 5}, {32, 160}), 5, 2e-6, Rng(25, Purpose::test, 0, 0),
          [](const Shape& shape, SacOptions& o) {
            o.critics.crossq = true;
            o.policy_delay = 1 + shape.number % 3;
          });
}

// Also over more rows than are in the cache at once.
TEST(SacAgainstTwin, Dropout) {
  compare(shapes({0, 5}, {7, 33, 200}), 5, 2e-6, Rng(26, Purpose::test, 0, 0),
          [](const Shape& shape, SacOptions& o) {
            o.critics.dropout = shape.number % 2 == 0 ? 0.01 : 0.3;
            o.critics.layer_norm = shape.number % 4 < 2;
          });
}

// Only the joint pass drops features.
TEST(SacAgainstTwin, CrossQWithDropout) {
  compare(shapes({0}, {64}), 5, 2e-6, Rng(27, Purpose::test, 0, 0),
          [](const Shape&, SacOptions& o) {
            o.critics.crossq = true;
            o.critics.dropout = 0.2;
          });
}

// The targets of an update use one subset of two of five critics, and the subsets change.
TEST(SacAgainstTwin, SubsetsOfCritics) {
  Rng rng(23, Purpose::test, 0, 0);
  ThreadTeam team(1);
  struct Case {
    int rows, quantiles;
    bool crossq;
    double dropout;
  };
  for (const auto& [rows, quantiles, crossq, dropout] :
       {Case{7, 0, false, 0}, Case{7, 5, false, 0}, Case{7, 0, false, 0.2}, Case{32, 5, true, 0}}) {
    const Shape shape{.rows = rows, .actions = 2, .critics = 5, .quantiles = quantiles};
    SCOPED_TRACE(shape.name());
    SacOptions options = sac_options(shape);
    options.critics.in_target = 2;
    options.critics.dropped = quantiles > 0 ? 1 : 0;
    options.critics.crossq = crossq;
    options.critics.dropout = dropout;
    SacPair pair(shape, options, rng);
    std::set<std::vector<int>> seen;
    for (std::uint64_t index = 0; index < 25; ++index) {
      const reference::ContinuousBatch batch = random_continuous_batch(rows, kObs, 2, rng);
      const FloatBatch floats(batch);
      pair.fast.update(floats.view(), {kRate, kRate, kRate}, index, team);
      std::vector<std::vector<int>> fitting;
      const std::span<const float> online = pair.fast.critics().network(0).online();
      for (int first = 0; first < 5; ++first) {
        for (int second = first + 1; second < 5; ++second) {
          reference::Sac trial = pair.twin;
          trial.update_critics(batch, pair.noise_of(0, index), {first, second},
                               pair.masks_of(index));
          double error = 0;
          for (std::size_t i = 0; i < online.size(); ++i)
            error = std::max(error, std::abs(online[i] - trial.critics[0].p[i]));
          if (error < 2e-6) fitting.push_back({first, second});
        }
      }
      ASSERT_GE(fitting.size(), 1u) << "update " << index;
      if (fitting.size() == 1) seen.insert(fitting[0]);
      pair.twin.update(batch, pair.noise_of(0, index), pair.noise_of(1, index), fitting[0],
                       pair.masks_of(index));
      pair.copy_to_twin();  // so that rounding does not add up
    }
    EXPECT_GE(seen.size(), 7u);
  }
}

// Every row counts once, however the batch is split, and threads change nothing.
TEST(SacAgainstTwin, ThreadsGiveTheSameBits) {
  const Shape shape{.rows = 256, .actions = 6, .critics = 2, .quantiles = 5};
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 4}) {
    Rng rng(24, Purpose::test, 0, 0);
    ThreadTeam team(threads);
    SacPair pair(shape, sac_options(shape), rng);
    for (std::uint64_t index = 0; index < 3; ++index) {
      const FloatBatch floats(random_continuous_batch(256, kObs, 6, rng));
      pair.fast.update(floats.view(), {kRate, kRate, kRate}, index, team);
    }
    const auto actor = pair.fast.actor().online();
    results.emplace_back(actor.begin(), actor.end());
    const auto critic = pair.fast.critics().network(1).online();
    results.back().insert(results.back().end(), critic.begin(), critic.end());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

// u far beyond where tanh(u) is 1 in single precision.
TEST(SacAgainstTwin, SquashedKernel) {
  constexpr float kMeans[] = {0, 3, -3, 20, -20, 0.3f, -1.2f, 90};
  constexpr float kLogStds[] = {-25, -20, -3, 0, 1.5f, 2, 2.5f, 40};
  for (const float l : kLogStds) {
    alignas(64) std::array<float, 2 * kLanes> outputs, d_outputs;
    alignas(64) std::array<float, kLanes> eps, action, spread, log_p, d_action, d_log_p;
    for (int lane = 0; lane < kLanes; ++lane) {
      outputs[lane] = kMeans[lane % 8];
      outputs[kLanes + lane] = l;
      eps[lane] = static_cast<float>(lane / 8) - 1.25f;
      d_action[lane] = 0.7f;
      d_log_p[lane] = -0.4f;
    }
    sample_squashed(1, kLanes, outputs.data(), eps.data(), action.data(), spread.data(),
                    log_p.data());
    squashed_gradient(1, kLanes, outputs.data(), action.data(), spread.data(), d_action.data(),
                      d_log_p.data(), d_outputs.data());
    for (int lane = 0; lane < kLanes; ++lane) {
      const reference::Squashed x(outputs[lane], l, eps[lane]);
      const double size = 1 + std::abs(x.u);
      EXPECT_NEAR(action[lane], x.a, 1e-6) << x.u;
      EXPECT_LE(std::abs(action[lane]), 1) << x.u;
      EXPECT_NEAR(log_p[lane], x.log_probability(), 1e-6 * (size + 20)) << x.u;
      const double dm = x.d_mean(0.7f, -0.4f), dl = x.d_log_std(0.7f, -0.4f);
      EXPECT_NEAR(d_outputs[lane], dm, 2e-6) << x.u;
      EXPECT_NEAR(d_outputs[kLanes + lane], dl, 2e-6 * (1 + std::abs(x.u - x.m))) << x.u;
    }
  }
}

}  // namespace
}  // namespace hotloop::comparison
