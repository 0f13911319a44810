// What TD3 adds to the training loop: exploration, and actors that learn less often.
#include "algo/td3/learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/train/variants.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

TrainSpec spec_of(const std::string& algorithm) {
  TrainSpec spec = small_spec();
  become_continuous(spec, algorithm);
  spec.learn.train_every = spec.envs;
  return spec;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST(Td3Learner, UpdatesTheActorAndAllTargetsAfterEveryThirdUpdate) {
  TrainSpec spec = spec_of("td3");
  td3(spec).policy_delay = 3;
  spec.learn.updates_per_step = 1.0 / spec.envs;  // one per round
  Trainer trainer(spec);
  auto& learner = dynamic_cast<Td3Learner&>(trainer.learner());
  int actor_changes = 0;
  while (trainer.counters().updates < 30) {
    const std::int64_t updates = trainer.counters().updates;
    const std::vector<float> actor = copy(learner.td3().actor().online());
    const std::vector<float> critic = copy(learner.td3().critics().network(0).online());
    const std::vector<float> target = copy(learner.td3().critics().target(1));
    const std::vector<float> actor_target = copy(learner.td3().actor_target());
    trainer.round();
    if (trainer.counters().updates == updates) continue;
    const bool due = trainer.counters().updates % 3 == 0;
    EXPECT_NE(copy(learner.td3().critics().network(0).online()), critic);
    EXPECT_EQ(copy(learner.td3().actor().online()) != actor, due) << trainer.counters().updates;
    EXPECT_EQ(copy(learner.td3().critics().target(1)) != target, due);
    EXPECT_EQ(copy(learner.td3().actor_target()) != actor_target, due);
    actor_changes += due;
  }
  EXPECT_EQ(actor_changes, 10);
  EXPECT_EQ(trainer.counters().target_updates, 10);
}

// The actions of `count` vector steps, without learning.
std::vector<float> actions_of(TrainSpec spec, int count) {
  spec.learn.learning_starts = 1'000'000;
  Td3Learner learner(spec, world_facts(spec.world()), 3);
  const std::vector<float> obs(static_cast<std::size_t>(spec.envs) * 3, 0.5f);
  learner.begin(obs, {});
  ThreadTeam team(1);
  std::vector<float> all;
  Actions actions(world_facts(spec.world()).spec, spec.envs);
  for (int step = 0; step < count; ++step) {
    learner.act(obs, {}, static_cast<std::uint64_t>(step), Counters{.env_steps = 1'000}, team,
                actions);
    all.insert(all.end(), actions.continuous.begin(), actions.continuous.end());
  }
  return all;
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double std_of(const std::vector<float>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const float value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Pendulum's bounds are -2 and 2, so a std of 0.1 becomes 0.2.
TEST(Td3Learner, ExploresWithTheStdThatWasAskedFor) {
  TrainSpec spec = spec_of("td3");
  const double mean = mean_of(actions_of(spec, 2'000));
  EXPECT_NEAR(std_of(actions_of(spec, 2'000)), 0.2, 0.01);
  td3(spec).noise_std = constant(0);
  EXPECT_NEAR(std_of(actions_of(spec, 10)), 0, 1e-6);
  EXPECT_NEAR(mean_of(actions_of(spec, 10)), mean, 0.02);
}

// x <- x - theta x + std e has the stationary std std / sqrt(1 - (1 - theta)^2), and neighbours
// correlate by 1 - theta.
TEST(Td3Learner, OrnsteinUhlenbeckNoiseDrifts) {
  TrainSpec spec = spec_of("td3");
  spec.envs = 1;
  spec.learn.train_every = 1;
  td3(spec).noise = NoiseKind::ornstein_uhlenbeck;
  td3(spec).noise_theta = 0.25;
  const std::vector<float> all = actions_of(spec, 20'000);
  const double std = std_of(all), mean = mean_of(all);
  EXPECT_NEAR(std, 2 * 0.1 / std::sqrt(1 - 0.75 * 0.75), 0.02);
  double products = 0;
  for (std::size_t i = 1; i < all.size(); ++i) products += (all[i] - mean) * (all[i - 1] - mean);
  EXPECT_NEAR(products / static_cast<double>(all.size()) / (std * std), 0.75, 0.03);
}

// After the end of an episode, the noise of its environment is that of a fresh start.
TEST(Td3Learner, OrnsteinUhlenbeckNoiseStartsAtZeroInEveryEpisode) {
  TrainSpec spec = spec_of("td3");
  spec.envs = 2;
  spec.learn.train_every = 2;
  spec.learn.learning_starts = 1'000'000;
  td3(spec).noise = NoiseKind::ornstein_uhlenbeck;
  const WorldFacts facts = world_facts(spec.world());
  Td3Learner lived(spec, facts, 3), fresh(spec, facts, 3);
  const std::vector<float> obs(6, 0.5f), rewards(2);
  lived.begin(obs, {});
  fresh.begin(obs, {});
  ThreadTeam team(1);
  Counters counters{.env_steps = 1'000};
  Actions actions(facts.spec, 2);
  const auto act = [&](Td3Learner& learner, std::uint64_t step) {
    learner.act(obs, {}, step, counters, team, actions);
    return copy(actions.continuous);
  };
  for (std::uint64_t step = 0; step < 10; ++step) act(lived, step);
  const std::vector<std::uint8_t> ended = {1, 0}, none = {0, 0};
  lived.push({.actions = {},
              .rewards = rewards,
              .terminated = ended,
              .truncated = none,
              .next_obs = obs,
              .next_mask = {},
              .final_obs = obs,
              .final_mask = {},
              .continuous_actions = actions.continuous},
             counters);
  const std::vector<float> after = act(lived, 10), start = act(fresh, 10);
  EXPECT_EQ(after[0], start[0]);
  EXPECT_NE(after[1], start[1]);
}

}  // namespace
}  // namespace hotloop
