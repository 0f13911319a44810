#include "train/trainer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include <hotloop/error.hpp>

#include "algo/common/rounds.hpp"
#include "algo/dqn/learner.hpp"
#include "tests/allocations.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

// Returns NaN or infinity where `illness` says so.
struct Sick {
  static constexpr auto spec =
      EnvSpec{.name = "test_sick", .obs = 2, .actions = 2, .max_steps = 50};
  enum Illness { kHealthy, kObservation, kReward, kFinalObservation };
  static inline Illness illness = kHealthy;
  int steps = 0;
  float start = 0;
  void reset(Rng& rng) { steps = 0, start = static_cast<float>(rng.uniform()); }
  void observe(std::span<float> obs) const {
    obs[0] = illness == kFinalObservation && steps == 50 ? INFINITY : start;
    obs[1] = illness == kObservation && steps == 7 ? std::nanf("") : static_cast<float>(steps) / 50;
  }
  Step step(int, Rng&) {
    ++steps;
    return {illness == kReward && steps == 9 ? INFINITY : 1.0f, false};
  }
};
HOTLOOP_ENV(Sick)

// Three actions, one of them masked in each state; the test notices if it is taken.
struct Masked {
  static constexpr auto spec =
      EnvSpec{.name = "test_masked", .obs = 1, .actions = 3, .max_steps = 20};
  static inline std::atomic<std::int64_t> forbidden_taken = 0;  // worlds step on many threads
  int state = 0;
  void reset(Rng& rng) { state = static_cast<int>(rng.below(3)); }
  void observe(std::span<float> obs) const { obs[0] = static_cast<float>(state); }
  static inline bool forbids_all = false;
  void mask(std::span<std::uint8_t> allowed) const {
    for (int a = 0; a < 3; ++a) allowed[a] = a != state && !(forbids_all && state == 2);
  }
  Step step(int action, Rng& rng) {
    forbidden_taken += action == state;
    state = static_cast<int>(rng.below(3));
    return {static_cast<float>(action), rng.below(10) == 0};
  }
};
HOTLOOP_ENV(Masked)

// Too wide for any replay of the size below.
struct Wide {
  static constexpr auto spec =
      EnvSpec{.name = "test_wide", .obs = 1000, .actions = 2, .max_steps = 9};
  void reset(Rng&) {}
  void observe(std::span<float> obs) const { std::fill(obs.begin(), obs.end(), 0.0f); }
  Step step(int, Rng&) { return {}; }
};
HOTLOOP_ENV(Wide)

std::span<float> target_of(Trainer& trainer) {
  return dynamic_cast<DqnLearner&>(trainer.learner()).dqn().target();
}

std::vector<float> parameters_after(const TrainSpec& spec) {
  Trainer trainer(spec);
  while (!trainer.done()) trainer.round();
  return {trainer.network().online().begin(), trainer.network().online().end()};
}

// A pipelined round, done sequentially with copies: first the steps, with the current parameters;
// then the updates of the previous round, from the memory before these steps; then the steps are
// stored.
std::vector<float> pipelined_slowly(const TrainSpec& spec) {
  BatchEnv env(make_worlds(spec.world(), spec.envs), spec.envs, spec.run.seed, Purpose::world);
  env.reset();
  DqnLearner learner(spec, world_facts(spec.world()), spec.run.seed);
  learner.begin(env.obs(), env.mask());
  ThreadTeam team(1);
  Actions actions(env.spec(), spec.envs);
  Counters c;
  Window window;
  struct Kept {
    std::vector<std::int32_t> actions;
    std::vector<float> rewards, obs, final_obs;
    std::vector<std::uint8_t> terminated, truncated, mask, final_mask;
    std::int64_t env_steps, episodes;
  };
  while (c.env_steps < spec.run.steps) {
    const Counters before = c;
    std::vector<Kept> round;
    for (std::int64_t i = 0; i < spec.learn.train_every; i += spec.envs) {
      learner.act(env.obs(), env.mask(), env.steps(), c, team, actions);
      env.step(actions, team);
      c.env_steps += spec.envs;
      c.episodes += static_cast<std::int64_t>(env.finished().size());
      const Transitions t = latest_transitions(env, actions);
      const auto copy = [](auto values) { return std::vector(values.begin(), values.end()); };
      round.push_back({copy(actions.discrete), copy(t.rewards), copy(t.next_obs), copy(t.final_obs),
                       copy(t.terminated), copy(t.truncated), copy(t.next_mask), copy(t.final_mask),
                       c.env_steps, c.episodes});
    }
    c = before;
    learner.learn({c, window, team});
    for (const Kept& k : round) {
      c.env_steps = k.env_steps;
      c.episodes = k.episodes;
      learner.push({.actions = k.actions,
                    .rewards = k.rewards,
                    .terminated = k.terminated,
                    .truncated = k.truncated,
                    .next_obs = k.obs,
                    .next_mask = k.mask,
                    .final_obs = k.final_obs,
                    .final_mask = k.final_mask},
                   c);
    }
    if (c.env_steps > spec.learn.learning_starts) ++c.train_events;
  }
  return {learner.acting().online().begin(), learner.acting().online().end()};
}

TEST(Trainer, PipelinedRoundsEqualThoseOfASlowTwin) {
  TrainSpec spec = small_spec();
  spec.learn.pipelined = true;
  for (const char* env : {"cartpole", "test_masked"}) {
    spec.env = env;
    for (const int threads : {1, 2, 3}) {
      spec.threads = threads;
      EXPECT_EQ(parameters_after(spec), pipelined_slowly(spec)) << env << ", threads " << threads;
    }
  }
  spec.learn.train_every = 64;  // several episodes end in a round, at different times
  dqn(spec).target.count = Count::episodes;
  dqn(spec).target.every = 3;
  dqn(spec).target.tau = 0.5;
  EXPECT_EQ(parameters_after(spec), pipelined_slowly(spec));
  spec.learn.pipelined = false;
  EXPECT_NE(parameters_after(spec), pipelined_slowly(spec));
}

// A round's updates are made during the next one; the last round has none.
TEST(Trainer, PipelinedUpdatesComeARoundLater) {
  TrainSpec spec = small_spec();
  spec.learn.pipelined = true;
  Trainer trainer(spec);
  while (!trainer.done()) {
    const std::int64_t expected = updates_due(spec.learn, trainer.counters().train_events);
    trainer.round();
    ASSERT_EQ(trainer.counters().updates, expected);
  }
  EXPECT_EQ(trainer.counters().updates, declared_updates(spec, spec.run.steps));
  spec.learn.pipelined = false;
  EXPECT_EQ(trainer.counters().updates + 4, declared_updates(spec, spec.run.steps));
}

// The error arrives whichever of the two threads fails.
TEST(Trainer, ErrorsOfPipelinedRoundsArrive) {
  TrainSpec spec = small_spec();
  spec.learn.pipelined = true;
  spec.threads = 2;
  spec.env = "test_sick";
  Sick::illness = Sick::kReward;
  EXPECT_THROW(parameters_after(spec), RunError);
  Sick::illness = Sick::kHealthy;
  spec.env = "cartpole";
  spec.optimiser.learning_rate = constant(1e30);
  EXPECT_THROW(parameters_after(spec), RunError);
}

TEST(Trainer, MakesExactlyTheDeclaredUpdates) {
  for (const auto& [envs, every, per_step, starts, steps] :
       std::vector<std::tuple<int, int, double, int, int>>{{1, 256, 0.5, 1000, 50'000},
                                                           {1, 10, 0.1, 300, 2000},
                                                           {4, 4, 0.3, 100, 1501},
                                                           {8, 64, 2, 0, 640},
                                                           {2, 2, 0.01, 0, 999}}) {
    TrainSpec spec = small_spec();
    spec.net.hidden = {8};
    spec.learn.batch = 8;
    spec.envs = envs;
    spec.learn.train_every = every;
    spec.learn.updates_per_step = per_step;
    spec.learn.learning_starts = starts;
    spec.run.steps = steps;
    Trainer trainer(spec);
    while (!trainer.done()) trainer.round();
    EXPECT_EQ(trainer.counters().env_steps, (steps + envs - 1) / envs * envs);
    EXPECT_EQ(trainer.counters().updates, declared_updates(spec, spec.run.steps));
    // Counted by hand: rounds that end after learning_starts, times updates per round.
    const std::int64_t rounds = trainer.counters().env_steps / every - starts / every;
    EXPECT_EQ(declared_updates(spec, spec.run.steps),
              std::llround(std::floor(rounds * every * per_step + 1e-6)));
  }
  TrainSpec zoo = small_spec();
  zoo.envs = 1, zoo.learn.train_every = 256, zoo.learn.updates_per_step = 0.5,
  zoo.learn.learning_starts = 1000, zoo.run.steps = 50'000;
  EXPECT_EQ(declared_updates(zoo, zoo.run.steps), 192 * 128);  // rounds 4 to 195
}

TEST(Trainer, SameSeedSameBitsOtherSeedOtherBits) {
  TrainSpec spec = small_spec();
  const std::vector<float> first = parameters_after(spec);
  EXPECT_EQ(first, parameters_after(spec));
  spec.run.seed = 2;
  EXPECT_NE(first, parameters_after(spec));
}

TEST(Trainer, ResultDoesNotDependOnThreads) {
  TrainSpec spec = small_spec();
  spec.envs = 100;  // four blocks of lanes to act on
  spec.learn.batch = 260;
  spec.net.hidden = {64, 64};  // enough to learn for several threads
  spec.learn.train_every = 100;
  spec.learn.updates_per_step = 0.1;
  dqn(spec).replay.capacity = 5000;
  spec.run.steps = 10'000;
  const std::vector<float> one = parameters_after(spec);
  for (int threads : {2, 4}) {
    spec.threads = threads;
    EXPECT_TRUE(spec.algorithm->work(spec, world_facts(spec.world())).shares_batches);
    EXPECT_EQ(one, parameters_after(spec)) << threads << " threads";
  }
}

TEST(Trainer, TheTargetMaySyncByUpdates) {
  TrainSpec spec = small_spec();
  dqn(spec).target.count = Count::updates;
  dqn(spec).target.every = 1'000'000;
  Trainer never(spec);
  const std::vector<float> start(never.network().online().begin(), never.network().online().end());
  while (!never.done()) never.round();
  EXPECT_EQ(start, std::vector<float>(target_of(never).begin(), target_of(never).end()));
  dqn(spec).target.every = 1;
  Trainer always(spec);
  while (!always.done()) always.round();
  EXPECT_TRUE(std::equal(always.network().online().begin(), always.network().online().end(),
                         target_of(always).begin()));
}

// Acrobot's reward is -1 per step.
TEST(Trainer, TheLargestRewardMayBeALoss) {
  TrainSpec spec = small_spec();
  spec.env = "acrobot";
  Trainer trainer(spec);
  trainer.round();
  EXPECT_EQ(trainer.rewards().lowest, -1);
  EXPECT_EQ(trainer.rewards().highest, 0);
  EXPECT_EQ(trainer.rewards().largest(), 1);
}

TEST(Trainer, MaskedActionsAreNeverTaken) {
  TrainSpec spec = small_spec();
  spec.env = "test_masked";
  Masked::forbidden_taken = 0;
  parameters_after(spec);
  EXPECT_EQ(Masked::forbidden_taken, 0);
}

TEST(Trainer, AStateWithoutAnyAllowedActionIsNamed) {
  TrainSpec spec = small_spec();
  spec.env = "test_masked";
  Masked::forbids_all = true;
  std::string message;
  try {
    parameters_after(spec);
  } catch (const RunError& e) {
    message = e.what();
  }
  Masked::forbids_all = false;
  EXPECT_NE(message.find("allows no action"), std::string::npos) << message;
}

TEST(Trainer, NonFiniteObservationOrRewardNamesEnvStepAndField) {
  const auto message = [](Sick::Illness illness) -> std::string {
    Sick::illness = illness;
    TrainSpec spec = small_spec();
    spec.env = "test_sick";
    std::string text;
    try {
      parameters_after(spec);
    } catch (const RunError& e) {
      text = e.what();
    }
    Sick::illness = Sick::kHealthy;
    return text;
  };
  EXPECT_EQ(message(Sick::kHealthy), "");
  EXPECT_NE(message(Sick::kObservation).find("observation[1] (nan) from env 0 at vector step 7 "),
            std::string::npos)
      << message(Sick::kObservation);
  EXPECT_NE(message(Sick::kReward).find("reward (inf) from env 0 at vector step 9 "),
            std::string::npos)
      << message(Sick::kReward);
  EXPECT_NE(message(Sick::kFinalObservation)
                .find("final observation[0] (inf) from env 0 at vector step 50 "),
            std::string::npos)
      << message(Sick::kFinalObservation);
}

TEST(Trainer, DivergingTrainingStopsBeforeTheParametersAreDamaged) {
  TrainSpec spec = small_spec();
  spec.optimiser.kind = OptimiserKind::sgd;
  dqn(spec).loss = Loss::mse;
  spec.optimiser.learning_rate.from = 1e6;
  Trainer trainer(spec);
  EXPECT_THROW(
      {
        while (!trainer.done()) trainer.round();
      },
      RunError);
  for (float p : trainer.network().online()) ASSERT_TRUE(std::isfinite(p));
}

TEST(Trainer, AReplayThatCannotFitIsRefusedWithTheNumber) {
  TrainSpec spec = small_spec();
  dqn(spec).replay.capacity = 4'000'000'000;
  spec.env = "test_wide";
  try {
    Trainer trainer(spec);
    FAIL() << "a replay of 16 TB was accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("replay.capacity"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("GiB"), std::string::npos);
  }
}

// All episodes of a round and no others; their total equals the counters.
TEST(Trainer, KeepsTheFinishedEpisodesOfARoundIfAsked) {
  TrainSpec spec = small_spec();
  Trainer silent(spec);
  while (!silent.done()) {
    silent.round();
    EXPECT_TRUE(silent.finished().empty());
  }
  spec.run.episode_log = true;
  Trainer trainer(spec);
  std::int64_t episodes = 0, before = 0;
  double returns = 0;
  while (!trainer.done()) {
    trainer.round();
    for (const FinishedEpisode& finished : trainer.finished()) {
      EXPECT_GT(finished.env_steps, before);
      EXPECT_LE(finished.env_steps, trainer.counters().env_steps);
      EXPECT_EQ(finished.env_steps % spec.envs, 0);
      EXPECT_EQ(finished.episode.total_return, static_cast<double>(finished.episode.length));
      returns += finished.episode.total_return;
      ++episodes;
    }
    before = trainer.counters().env_steps;
  }
  EXPECT_GT(episodes, 20);
  EXPECT_EQ(episodes, trainer.counters().episodes);
  EXPECT_NEAR(returns / static_cast<double>(episodes), trainer.episodes().mean(EpisodeLog::kReturn),
              1e-9);
}

TEST(Trainer, TrainingAllocatesNothingAfterWarmUp) {
  if (!kCountsAllocations) GTEST_SKIP() << "the sanitizer replaces malloc";
  for (const auto& [env, envs, threads] : std::vector<std::tuple<const char*, int, int>>{
           {"cartpole", 1, 1}, {"cartpole", 4, 1}, {"cartpole", 64, 2}, {"test_masked", 4, 1}}) {
    TrainSpec spec = small_spec();
    spec.env = env;
    spec.envs = envs;
    spec.learn.train_every = std::max(8, envs);
    spec.learn.batch = 160;
    spec.threads = threads;
    if (threads > 1) {
      spec.net.hidden = {64, 64};
      EXPECT_TRUE(spec.algorithm->work(spec, world_facts(spec.world())).shares_batches);
    }
    spec.run.steps = 12'000;
    spec.run.episode_log = envs == 4;
    Trainer trainer(spec);
    while (trainer.counters().env_steps < 1000) trainer.round();
    const std::int64_t before = allocations();
    const std::int64_t updates = trainer.counters().updates;
    while (!trainer.done()) trainer.round();
    EXPECT_EQ(allocations() - before, 0) << envs << " x " << env << ", threads " << threads;
    EXPECT_GT(trainer.counters().updates - updates, 5000);
  }
  const std::int64_t before = allocations();
  const auto proof = std::make_unique<int>(1);  // the counter works
  EXPECT_EQ(allocations() - before, 1);
}

}  // namespace
}  // namespace hotloop
