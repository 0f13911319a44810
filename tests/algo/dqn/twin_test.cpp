// The learner of dqn against a plain loop: see twin.hpp.
#include "tests/algo/twin.hpp"

#include "algo/dqn/learner.hpp"

namespace hotloop::twin {
namespace {

AgentSpec replay_spec() {
  AgentSpec s = shared_spec("dqn");
  s.learn.batch = 8;
  s.learn.train_every = 2 * kEnvs;
  s.learn.updates_per_step = 1;
  dqn(s).replay.capacity = 60;
  dqn(s).target.every = 9;
  dqn(s).explore.epsilon = linear(0.9, 0.1, 150);
  return s;
}

class DqnTwin : public testing::TestWithParam<Case> {};

TEST_P(DqnTwin, EqualsAPlainLoop) {
  AgentSpec spec = replay_spec();
  GetParam().change(spec);
  const LearningOptions& l = spec.learn;
  const DqnOptions& o = dqn(spec);
  DqnLearner learner(spec, kWorld, kSeed);

  ObsNormaliser normaliser(kObs);
  RewardNormaliser reward_normaliser(kEnvs, l.gamma);
  Dqn dqn(learner.acting().structure(), spec, kSeed,
          l.normalise_obs ? normaliser.scale() : nullptr);
  const int draw = l.batch * l.accumulate;
  Replay replay({.lanes = kEnvs,
                 .obs = kObs,
                 .actions = kActions,
                 .masks = true,
                 .max_steps = kCut,
                 .capacity = o.replay.capacity,
                 .steps = o.n_step,
                 .gamma = l.gamma,
                 .newest = o.replay.newest,
                 .prioritised = o.replay.prioritised,
                 .alpha = o.replay.alpha,
                 .priority_epsilon = o.replay.epsilon},
                draw);
  ThreadTeam team(1);
  Counters c, twin;  // the learner's, and those of the plain loop
  Window window;
  Actions actions({.name = {}, .actions = kActions}, kEnvs);
  std::vector<std::int32_t> expected(kEnvs);
  const auto sync = [&](std::int64_t number) {
    if (o.target.every > 0 && number % o.target.every == 0) dqn.sync_target();
  };

  Life life;
  learner.begin(life.obs, life.mask);
  normaliser.add(life.obs);
  replay.begin(life.obs, life.mask);
  for (std::uint64_t step = 0; step < 80; ++step) {
    learner.act(life.obs, life.mask, step, c, team, actions);
    dqn.network().act(life.obs, life.mask, exploration_of(o.explore, c), step, team, expected);
    ASSERT_EQ(actions.discrete, expected) << "step " << step;

    Transitions t = life.step(actions.discrete);
    c.env_steps += kEnvs;
    c.episodes += life.ended();
    learner.push(t, c);
    normaliser.add(t.next_obs);
    reward_normaliser.add(t.rewards, t.terminated, t.truncated);
    std::vector<std::uint8_t> over = life.terminated, never(kEnvs);
    if (o.truncation_ends) {
      for (int env = 0; env < kEnvs; ++env) over[env] |= life.truncated[env];
      t.terminated = over;
      t.truncated = never;
    }
    replay.push(t);
    for (int env = 0; env < kEnvs && o.target.count == Count::steps; ++env) sync(++twin.env_steps);
    for (int i = 0; i < life.ended() && o.target.count == Count::episodes; ++i)
      sync(++twin.episodes);

    if (c.env_steps % l.train_every != 0 || c.env_steps <= 20) continue;
    ++c.train_events;
    const Counters before = c;
    learner.learn({c, window, team});
    if (l.normalise_rewards) dqn.set_reward_factor(reward_normaliser.factor());
    const auto updates = static_cast<int>(l.train_every * l.updates_per_step);
    for (int i = 0; i < updates / o.repeats; ++i) {
      Counters now = before;
      now.updates = twin.updates;
      replay.sample(1, draw, kSeed, static_cast<std::uint64_t>(twin.batches++),
                    o.replay.beta.at(now.progress()));
      const Batch all = replay.batch(0);
      std::vector<Batch> parts;
      for (int p = 0; p < l.accumulate; ++p) {
        const int first = p * l.batch;
        parts.push_back({l.batch, all.obs + first * kObs, all.next_obs + first * kObs,
                         all.actions + first, all.rewards + first, all.discounts + first,
                         all.weights == nullptr ? nullptr : all.weights + first,
                         all.mask + first * kActions, all.next_mask + first * kActions});
      }
      for (int repeat = 0; repeat < o.repeats; ++repeat) {
        now.updates = twin.updates;
        dqn.update(parts, spec.optimiser.learning_rate.at(now.progress()),
                   static_cast<std::uint64_t>(twin.updates), team);
        ++twin.updates;
        if (o.target.count == Count::updates) sync(twin.updates);
      }
      if (o.replay.prioritised) replay.set_priorities(0, dqn.errors());
    }
    ASSERT_EQ(c.updates, twin.updates);
    expect_near(learner.acting().online(), dqn.online(), c.updates);
    if (dqn.has_target()) expect_near(learner.dqn().target(), dqn.target(), c.updates);
  }
  EXPECT_GT(twin.updates, 100);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"steps_and_blends",
       [](AgentSpec& s) {
         dqn(s).n_step = 3;
         dqn(s).target.every = 2;  // three environments pass one or two multiples at a time
         dqn(s).target.tau = 0.1;
       }},
      {"priorities",
       [](AgentSpec& s) {
         dqn(s).replay.prioritised = true;
         dqn(s).replay.alpha = 0.9;
         dqn(s).replay.epsilon = 0.05;
         dqn(s).replay.beta = linear(0.2, 1, 200);
         dqn(s).replay.newest = true;
         dqn(s).target.every = 4;
         dqn(s).target.count = Count::updates;
       }},
      {"parts_and_statistics",
       [](AgentSpec& s) {
         dqn(s).repeats = 2;
         s.learn.accumulate = 3;
         s.learn.normalise_obs = s.learn.normalise_rewards = true;
         dqn(s).double_q = true;
         dqn(s).target.every = 2;
         dqn(s).target.count = Count::episodes;
         dqn(s).target.tau = 0.5;
       }},
      // Values of next states are reused for a repeat only if nothing changes them.
      {"repeats_double",
       [](AgentSpec& s) {
         dqn(s).repeats = 6;
         dqn(s).double_q = true;
         s.optimiser.learning_rate = constant(0.05);  // the best action changes
       }},
      {"repeats_noisy",
       [](AgentSpec& s) {
         dqn(s).repeats = 2;
         s.net.noisy = Noisy::all;
       }},
      {"repeats_vanilla",
       [](AgentSpec& s) {
         dqn(s).repeats = 2;
         dqn(s).target.every = 0;
       }},
      {"repeats_munchausen",
       [](AgentSpec& s) {
         dqn(s).repeats = 2;
         dqn(s).munchausen.alpha = 0.9;
       }},
      {"munchausen_parts",
       [](AgentSpec& s) {
         dqn(s).munchausen.alpha = 0.5;
         dqn(s).munchausen.temperature = 0.4;
         s.learn.accumulate = 2;
         dqn(s).replay.prioritised = true;
       }},
      {"repeats_parts",
       [](AgentSpec& s) {
         dqn(s).repeats = 2;
         s.learn.accumulate = 3;
       }},
      {"repeats",
       [](AgentSpec& s) {
         dqn(s).repeats = 3;
         dqn(s).target.every = 2;  // also between repeats
         dqn(s).target.count = Count::updates;
       }},
      {"boltzmann_vanilla",
       [](AgentSpec& s) {
         dqn(s).explore.kind = Explore::boltzmann;
         dqn(s).explore.temperature = linear(3, 0.1, 150);
         dqn(s).truncation_ends = true;
         dqn(s).target.every = 0;
       }},
      {"distributions", [](AgentSpec& s) {
         dqn(s).explore.steps = 4;
         dqn(s).explore.epsilon = constant(0.6);
         s.net.noisy = Noisy::all;
         dqn(s).head = {.kind = HeadKind::c51, .atoms = 11, .v_min = -30, .v_max = 30};
         dqn(s).replay.prioritised = true;
         s.learn.accumulate = 2;
         dqn(s).n_step = 2;
       }}};
  return all;
}

INSTANTIATE_TEST_SUITE_P(Learner, DqnTwin, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hotloop::twin
