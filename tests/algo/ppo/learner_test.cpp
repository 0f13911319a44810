#include "algo/ppo/learner.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reference/gae.hpp"
#include "tests/train/variants.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

// A world whose rewards have two parts; the second counts double.
struct TwoParts {
  static constexpr EnvSpec spec{.name = "test_two_parts",
                                .obs = 2,
                                .action_size = 1,
                                .action_low = {-1},
                                .action_high = {1},
                                .max_steps = 7,
                                .reward_parts = {"near", "far"}};
  float x = 0, near = 0, far = 0;
  void reset(Rng& rng) {
    x = static_cast<float>(rng.uniform(-1, 1));
    near = far = 0;
  }
  void observe(std::span<float> obs) const { obs[0] = x, obs[1] = 1; }
  Step step(std::span<const float> action, Rng&) {
    x += 0.3f * action[0];
    near = -x * x;
    far = x;
    return {near + 2 * far, x > 1.5f};
  }
  void reward_parts(std::span<float> parts) const { parts[0] = near, parts[1] = far; }
};
HOTLOOP_ENV(TwoParts)

TrainSpec parts_spec() {
  TrainSpec s = small_spec();
  s.env = "test_two_parts";
  become_rollout_learner(s, "ppo");
  ppo(s).part_weights = {0.5, 0.25};
  ppo(s).advantages = Standardise::none;
  s.learn.gamma = 0.9;
  rollout(s).lambda = 0.8;
  return s;
}

// Values of states from the network, one row at a time.
TEST(PpoLearner, AdvantagesOfEveryPartEqualTheListBasedTwin) {
  const TrainSpec spec = parts_spec();
  PpoLearner learner(spec, world_facts(spec.world()), spec.run.seed);
  BatchEnv env(make_worlds(spec.world(), spec.envs), spec.envs, 3, Purpose::world);
  env.reset();
  ThreadTeam team(1);
  Counters counters;
  Window window;
  Actions actions(env.spec(), spec.envs);
  learner.begin(env.obs(), env.mask());
  const int lanes = spec.envs, steps = rollout(spec).n_steps;
  const std::size_t places = static_cast<std::size_t>(steps) * lanes;
  const std::vector<float> parameters(learner.acting().online().begin(),
                                      learner.acting().online().end());
  Workspace workspace(learner.acting().structure(), 1, Use::training);
  const auto value = [&](const float* obs, int head) {
    forward(learner.acting().plan(), parameters, obs, 1, workspace);
    return static_cast<double>(workspace.outputs(0)[(2 + head) * kLanes]);
  };
  std::vector<std::vector<reference::GaeStep>> lists(3 * lanes);
  for (int t = 0; t < steps; ++t) {
    const std::vector<float> before(env.obs().begin(), env.obs().end());
    learner.act(env.obs(), env.mask(), env.steps(), counters, team, actions);
    env.step(actions, team);
    learner.push(latest_transitions(env, actions), counters);
    for (int lane = 0; lane < lanes; ++lane) {
      for (int head = 0; head < 3; ++head) {
        const bool cut = env.truncated()[lane] != 0;
        const float* next = (cut ? env.final_obs() : env.obs()).data() + 2 * lane;
        const float reward =
            head == 0 ? env.rewards()[lane] : env.reward_parts()[2 * lane + head - 1];
        lists[head * lanes + lane].push_back({reward, value(&before[2 * lane], head),
                                              value(next, head), env.terminated()[lane] != 0, cut});
      }
    }
  }
  ++counters.train_events;
  learner.learn({counters, window, team});
  for (int head = 0; head < 3; ++head) {
    for (int lane = 0; lane < lanes; ++lane) {
      const auto& list = lists[head * lanes + lane];
      const std::vector<double> advantages = reference::gae(list, 0.9, 0.8);
      for (int t = 0; t < steps; ++t) {
        const std::size_t place = static_cast<std::size_t>(t) * lanes + lane;
        EXPECT_NEAR(learner.returns()[head * places + place], advantages[t] + list[t].value, 1e-5);
        if (head > 0) continue;
        EXPECT_NEAR(learner.advantages()[place], advantages[t], 1e-5);
      }
    }
  }
}

TEST(PpoLearner, WeightsMustFitTheParts) {
  TrainSpec spec = parts_spec();
  ppo(spec).part_weights = {1};
  try {
    Trainer trainer(spec);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()),
              "algo.part_weights: 1 weights, but the rewards of test_two_parts have 2 parts: near, "
              "far; give one for each, or none");
  }
}

// The clip is so wide and steps so large that the first epoch already goes too far; the others are
// skipped.
TEST(PpoLearner, StopsEarlyWhenThePolicyHasMovedTooFar) {
  TrainSpec spec = parts_spec();
  rollout(spec).n_epochs = 10;
  spec.algorithm->derive(spec);
  spec.optimiser.learning_rate = constant(0.05);
  Trainer free(spec);
  free.round();
  ppo(spec).target_kl = 1e-4;
  Trainer held(spec);
  held.round();
  const std::int64_t epoch = spec.learn.train_every / spec.learn.batch;
  EXPECT_EQ(free.counters().updates, 10 * epoch);
  EXPECT_GE(held.counters().updates, epoch);
  EXPECT_LE(held.counters().updates, 3 * epoch);
  EXPECT_EQ(held.counters().updates % epoch, 0);
}

// The sum that all updates so far have reported under this name.
double sum_of(const Trainer& trainer, std::string_view column) {
  const std::vector<std::string_view> columns = trainer.learner().columns();
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) throw std::out_of_range(std::string(column));
  return trainer.window().sums[found - columns.begin()];
}

// With observations normalised, acting and learning see the same numbers within a rollout.
TEST(PpoLearner, NormalisedObservationsKeepTheRatioAtOne) {
  TrainSpec spec = parts_spec();
  spec.learn.normalise_obs = true;
  rollout(spec).n_epochs = 1;
  spec.learn.batch = static_cast<int>(spec.learn.train_every);  // one update per rollout
  spec.algorithm->derive(spec);
  Trainer trainer(spec);
  for (int round = 0; round < 4; ++round) {
    trainer.round();
    EXPECT_NEAR(sum_of(trainer, "kl"), 0, 1e-6) << round;
    EXPECT_EQ(sum_of(trainer, "clipped"), 0);
  }
}

}  // namespace
}  // namespace hotloop
