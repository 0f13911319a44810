// Learners beside plain loops that say once more, in the spec's own words, which setting goes where. The
// parts (memory, network, statistics) have tests of their own; here a switch that never reaches its part
// must show. Transitions are made up: random masks, endings of both kinds.
#include <gtest/gtest.h>

#include <hotloop/env.hpp>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "reference/network.hpp"
#include "algo/ppo/learner.hpp"
#include "algo/dqn/learner.hpp"
#include "algo/pqn/learner.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

constexpr int kEnvs = 3, kObs = 3, kActions = 4, kCut = 7;

// Says only what its observations, actions and masks look like.
struct TwinWorld {
  static constexpr EnvSpec spec{
      .name = "test_twin", .obs = kObs, .actions = kActions, .max_steps = kCut};
  void reset(Rng&) {}
  void observe(std::span<float> obs) const { std::fill(obs.begin(), obs.end(), 0.0f); }
  void mask(std::span<std::uint8_t> allowed) const { std::fill(allowed.begin(), allowed.end(), 1); }
  Step step(int, Rng&) { return {}; }
};
HOTLOOP_ENV(TwinWorld)

// One vector step after the other, out of thin air.
struct Life {
  Rng rng{9, Purpose::test, 0, 0};
  std::vector<float> obs = std::vector<float>(kEnvs * kObs), final_obs = obs;
  std::vector<std::uint8_t> mask = std::vector<std::uint8_t>(kEnvs * kActions), final_mask = mask;
  std::vector<float> rewards = std::vector<float>(kEnvs);
  std::vector<std::uint8_t> terminated = std::vector<std::uint8_t>(kEnvs), truncated = terminated;
  std::vector<int> lengths = std::vector<int>(kEnvs);

  Life() { look(obs, mask); }
  void look(std::vector<float>& values, std::vector<std::uint8_t>& allowed) {
    for (float& value : values) value = static_cast<float>(2 + 3 * rng.normal());
    for (auto& may : allowed) may = rng.below(2) == 0;
    for (int env = 0; env < kEnvs; ++env) allowed[env * kActions + rng.below(kActions)] = 1;
  }
  Transitions step(std::span<const std::int32_t> actions) {
    look(obs, mask);
    look(final_obs, final_mask);
    for (int env = 0; env < kEnvs; ++env) {
      rewards[env] = static_cast<float>(5 * rng.normal());
      const bool cut = ++lengths[env] == kCut;
      truncated[env] = cut;
      terminated[env] = !cut && rng.below(6) == 0;
      if (cut || terminated[env]) lengths[env] = 0;
    }
    return {actions, rewards, terminated, truncated, obs, mask, final_obs, final_mask};
  }
  int ended() const {
    int count = 0;
    for (int env = 0; env < kEnvs; ++env) count += terminated[env] | truncated[env];
    return count;
  }
};

TrainSpec twin_spec() {
  TrainSpec s = small_spec();
  s.env = "test_twin";
  s.envs = kEnvs;
  s.run.seed = 5;
  s.net.hidden = {16};
  s.learn.gamma = 0.9;
  s.learn.batch = 8;
  dqn(s).replay.capacity = 60;
  s.learn.train_every = 2 * kEnvs;
  s.learn.updates_per_step = 1;
  dqn(s).target.every = 9;
  dqn(s).explore.epsilon = linear(0.9, 0.1, 150);
  s.optimiser.learning_rate = linear(5e-3, 1e-3, 200);
  s.optimiser.learning_rate.count = Count::updates;
  return s;
}

Exploration exploration_of(const QOptions& q, const Counters& c) {
  return {q.explore, q.epsilon.at(c.progress()), q.explore_steps, q.temperature.at(c.progress())};
}

void expect_near(std::span<const float> a, std::span<const float> b, std::int64_t updates) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << updates << " updates";
}

struct TwinCase {
  std::string name;
  std::function<void(TrainSpec&)> change;
};
std::ostream& operator<<(std::ostream& out, const TwinCase& c) { return out << c.name; }

class ReplayTwin : public testing::TestWithParam<TwinCase> {};
class RolloutTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(ReplayTwin, EqualsAPlainLoop) {
  TrainSpec spec = twin_spec();
  GetParam().change(spec);
  const QOptions& q = spec.q;
  DqnLearner learner(spec);

  ObsNormaliser normaliser(kObs);
  RewardNormaliser reward_normaliser(kEnvs, q.gamma);
  Dqn dqn(learner.acting().structure(), spec.net.init, q, spec.optimiser, spec.run.seed, kEnvs,
          q.normalise_obs ? normaliser.scale() : nullptr);
  const int draw = q.batch * q.accumulate;
  Replay replay({.lanes = kEnvs,
                 .obs = kObs,
                 .actions = kActions,
                 .masks = true,
                 .max_steps = kCut,
                 .capacity = q.replay_capacity,
                 .steps = q.n_step,
                 .gamma = q.gamma,
                 .newest = q.newest,
                 .prioritised = q.prioritised,
                 .alpha = q.priority_alpha,
                 .priority_epsilon = q.priority_epsilon},
                draw);
  ThreadTeam team(1);
  Counters c, twin;  // the learner's, and what a plain count gives
  Window window;
  Actions actions({.name = {}, .actions = kActions}, kEnvs);
  std::vector<std::int32_t> expected(kEnvs);
  const auto follow = [&](std::int64_t number) {
    if (q.target_every > 0 && number % q.target_every == 0) dqn.update_target();
  };

  Life life;
  learner.begin(life.obs, life.mask);
  normaliser.add(life.obs);
  replay.begin(life.obs, life.mask);
  for (std::uint64_t step = 0; step < 80; ++step) {
    learner.act(life.obs, life.mask, step, c, team, actions);
    dqn.network().act(life.obs, life.mask, exploration_of(q, c), step, team, expected);
    ASSERT_EQ(actions.numbers, expected) << "step " << step;

    Transitions t = life.step(actions.numbers);
    c.env_steps += kEnvs;
    c.episodes += life.ended();
    learner.push(t, c);
    normaliser.add(t.next_obs);
    reward_normaliser.add(t.rewards, t.terminated, t.truncated);
    std::vector<std::uint8_t> over = life.terminated, never(kEnvs);
    if (q.truncation_ends) {
      for (int env = 0; env < kEnvs; ++env) over[env] |= life.truncated[env];
      t.terminated = over;
      t.truncated = never;
    }
    replay.push(t);
    for (int env = 0; env < kEnvs && q.target_count == Count::steps; ++env)
      follow(++twin.env_steps);
    for (int i = 0; i < life.ended() && q.target_count == Count::episodes; ++i)
      follow(++twin.episodes);

    if (c.env_steps % q.train_every != 0 || c.env_steps <= 20) continue;
    ++c.train_events;
    const Counters before = c;
    learner.learn({c, window, team});
    if (q.normalise_rewards) dqn.set_reward_factor(reward_normaliser.factor());
    const auto updates = static_cast<int>(q.train_every * q.updates_per_step);
    for (int i = 0; i < updates / q.repeats; ++i) {
      Counters now = before;
      now.updates = twin.updates;
      replay.sample(1, draw, spec.run.seed, static_cast<std::uint64_t>(twin.batches++),
                    q.beta.at(now.progress()));
      const Batch all = replay.batch(0);
      std::vector<Batch> parts;
      for (int p = 0; p < q.accumulate; ++p) {
        const int first = p * q.batch;
        parts.push_back({q.batch, all.obs + first * kObs, all.next_obs + first * kObs,
                         all.actions + first, all.rewards + first, all.discounts + first,
                         all.weights == nullptr ? nullptr : all.weights + first,
                         all.mask + first * kActions, all.next_mask + first * kActions});
      }
      for (int repeat = 0; repeat < q.repeats; ++repeat) {
        now.updates = twin.updates;
        dqn.update(parts, q.learning_rate.at(now.progress()),
                   static_cast<std::uint64_t>(twin.updates), team);
        ++twin.updates;
        if (q.target_count == Count::updates) follow(twin.updates);
      }
      if (q.prioritised) replay.set_priorities(0, dqn.errors());
    }
    ASSERT_EQ(c.updates, twin.updates);
    expect_near(learner.acting().online(), dqn.online(), c.updates);
    if (dqn.has_target()) expect_near(learner.dqn().target(), dqn.target(), c.updates);
  }
  EXPECT_GT(twin.updates, 100);
}

INSTANTIATE_TEST_SUITE_P(
    Learner, ReplayTwin,
    testing::Values(TwinCase{"steps_and_blends",
                             [](TrainSpec& s) {
                               dqn(s).n_step = 3;
                               dqn(s).target.every =
                                   2;  // three environments pass one or two multiples at a time
                               dqn(s).target.tau = 0.1;
                             }},
                    TwinCase{"priorities",
                             [](TrainSpec& s) {
                               dqn(s).replay.prioritised = true;
                               dqn(s).replay.alpha = 0.9;
                               dqn(s).replay.epsilon = 0.05;
                               dqn(s).replay.beta = linear(0.2, 1, 200);
                               dqn(s).replay.newest = true;
                               dqn(s).target.every = 4;
                               dqn(s).target.count = Count::updates;
                             }},
                    TwinCase{"parts_and_statistics",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 2;
                               s.learn.accumulate = 3;
                               s.learn.normalise_obs = s.learn.normalise_rewards = true;
                               dqn(s).double_q = true;
                               dqn(s).target.every = 2;
                               dqn(s).target.count = Count::episodes;
                               dqn(s).target.tau = 0.5;
                             }},
                    // Next states keep their values for a repeat only where nothing moves them.
                    TwinCase{"repeats_double",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 6;
                               dqn(s).double_q = true;
                               s.optimiser.learning_rate = constant(0.05);  // the best action changes
                             }},
                    TwinCase{"repeats_noisy",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 2;
                               s.net.noisy = Noisy::all;
                             }},
                    TwinCase{"repeats_vanilla",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 2;
                               dqn(s).target.every = 0;
                             }},
                    TwinCase{"repeats_munchausen",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 2;
                               dqn(s).munchausen.alpha = 0.9;
                             }},
                    TwinCase{"munchausen_parts",
                             [](TrainSpec& s) {
                               dqn(s).munchausen.alpha = 0.5;
                               dqn(s).munchausen.temperature = 0.4;
                               s.learn.accumulate = 2;
                               dqn(s).replay.prioritised = true;
                             }},
                    TwinCase{"repeats_parts",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 2;
                               s.learn.accumulate = 3;
                             }},
                    TwinCase{"repeats",
                             [](TrainSpec& s) {
                               dqn(s).repeats = 3;
                               dqn(s).target.every = 2;  // also between repeats
                               dqn(s).target.count = Count::updates;
                             }},
                    TwinCase{"boltzmann_vanilla",
                             [](TrainSpec& s) {
                               dqn(s).explore.kind = Explore::boltzmann;
                               dqn(s).explore.temperature = linear(3, 0.1, 150);
                               dqn(s).truncation_ends = true;
                               dqn(s).target.every = 0;
                             }},
                    TwinCase{"distributions",
                             [](TrainSpec& s) {
                               dqn(s).explore.steps = 4;
                               dqn(s).explore.epsilon = constant(0.6);
                               s.net.noisy = Noisy::all;
                               dqn(s).head.kind = HeadKind::c51;
                               dqn(s).head.atoms = 11;
                               dqn(s).head.v_min = -30;
                               dqn(s).head.v_max = 30;
                               dqn(s).replay.prioritised = true;
                               s.learn.accumulate = 2;
                               dqn(s).n_step = 2;
                             }}),
    [](const auto& test) { return test.param.name; });

// max_a Q(s, a) over the allowed actions, by the slow network on observations scaled by hand.
double best_value(const QNetwork& network, const float* obs, const std::uint8_t* mask) {
  std::vector<double> x(obs, obs + kObs);
  if (const InputScale* scale = network.scale()) {
    for (int i = 0; i < kObs; ++i) {
      const double scaled = (x[i] - double{scale->mean[i]}) * double{scale->factor[i]};
      x[i] = std::max(-10.0, std::min(10.0, scaled));
    }
  }
  const std::vector<double> parameters(network.online().begin(), network.online().end());
  const std::vector<double> q =
      reference::forward<double>(network.structure(), parameters, x).y.back();
  double best = -INFINITY;
  for (int a = 0; a < kActions; ++a) {
    if (mask[a] != 0) best = std::max(best, q[a]);
  }
  return best;
}

// The lambda-returns as the recursion says it, lane by lane. `value` is that of the state that a place's
// step led to, `last` that of an episode's final one.
std::vector<float> returns_by_hand(const Rollout& rollout, const QOptions& q, double factor,
                                   const std::function<double(int place)>& value,
                                   const std::function<double(int place)>& last) {
  std::vector<float> returns(q.rollout * kEnvs);
  for (int env = 0; env < kEnvs; ++env) {
    double after = 0;
    for (int row = q.rollout - 1; row >= 0; --row) {
      const int place = row * kEnvs + env;
      const bool cut = rollout.truncated()[place] != 0;
      const double v = cut ? last(place) : value(place);
      const double next = cut || row + 1 == q.rollout ? v : q.lambda * after + (1 - q.lambda) * v;
      after = factor * rollout.rewards()[place] +
              (rollout.terminated()[place] != 0 ? 0 : q.gamma * next);
      returns[place] = static_cast<float>(after);
    }
  }
  return returns;
}

std::vector<std::int32_t> shuffled(std::size_t size, std::uint64_t seed, std::int64_t stream) {
  std::vector<std::int32_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed, Purpose::replay, 1, static_cast<std::uint64_t>(stream));
  for (std::size_t i = size - 1; i > 0; --i)
    std::swap(order[i], order[rng.below(static_cast<std::uint32_t>(i + 1))]);
  return order;
}

TEST_P(RolloutTwin, EqualsAPlainLoop) {
  TrainSpec spec = twin_spec();
  spec.algorithm = Algorithm::pqn;
  rollout(spec).n_steps = 6;
  spec.learn.batch = 6;
  rollout(spec).n_epochs = 2;
  rollout(spec).lambda = 0.7;
  dqn(spec).target.every = 0;
  GetParam().change(spec);
  const QOptions& q = spec.q;
  PqnLearner learner(spec);

  ObsNormaliser normaliser(kObs);
  RewardNormaliser reward_normaliser(kEnvs, q.gamma);
  Pqn pqn(learner.acting().structure(), spec.net.init, q, spec.optimiser, spec.run.seed, kEnvs,
          q.normalise_obs ? normaliser.scale() : nullptr);
  Rollout rollout(
      {.steps = q.rollout, .lanes = kEnvs, .obs = kObs, .actions = kActions, .masks = true});
  ThreadTeam team(1);
  Counters c;
  Window window;
  Actions actions({.name = {}, .actions = kActions}, kEnvs);
  std::vector<std::int32_t> expected(kEnvs);
  std::vector<double> next_values;  // [T, N], of the state that a step leads to
  std::uint64_t updates = 0;

  Life life;
  learner.begin(life.obs, life.mask);
  normaliser.add(life.obs);
  rollout.begin(life.obs, life.mask);
  for (std::uint64_t step = 0; step < 60; ++step) {
    learner.act(life.obs, life.mask, step, c, team, actions);
    pqn.network().act(life.obs, life.mask, exploration_of(q, c), step, team, expected);
    ASSERT_EQ(actions.numbers, expected) << "step " << step;
    const QNetwork& network = pqn.network();
    // A state is valued when something is done there, by the statistics of that moment.
    for (int env = 0; env < kEnvs && step % q.rollout > 0; ++env)
      next_values.push_back(best_value(network, &life.obs[env * kObs], &life.mask[env * kActions]));

    const Transitions t = life.step(actions.numbers);
    c.env_steps += kEnvs;
    c.episodes += life.ended();
    learner.push(t, c);
    normaliser.add(t.next_obs);
    reward_normaliser.add(t.rewards, t.terminated, t.truncated);
    rollout.push(t);
    if (!rollout.full()) continue;

    ++c.train_events;
    learner.learn({c, window, team});
    for (int env = 0; env < kEnvs; ++env)
      next_values.push_back(best_value(network, &life.obs[env * kObs], &life.mask[env * kActions]));
    const std::vector<float> returns = returns_by_hand(
        rollout, q, q.normalise_rewards ? reward_normaliser.factor() : 1,
        [&](int place) { return next_values[place]; },
        [&](int place) {
          return best_value(network, &rollout.final_obs()[place * kObs],
                            &rollout.final_mask()[place * kActions]);
        });
    next_values.clear();
    for (int epoch = 0; epoch < q.epochs; ++epoch) {
      const std::vector<std::int32_t> order =
          shuffled(returns.size(), spec.run.seed, c.train_events * q.epochs + epoch);
      for (std::size_t first = 0; first < order.size(); first += q.batch) {
        const Progress now{c.env_steps, static_cast<std::int64_t>(updates), c.episodes};
        pqn.update(rollout, std::span(order).subspan(first, q.batch), returns,
                   q.learning_rate.at(now), updates, team);
        ++updates;
      }
    }
    rollout.restart();
    expect_near(learner.acting().online(), pqn.network().online(), c.updates);
  }
  EXPECT_EQ(c.updates, static_cast<std::int64_t>(updates));
  EXPECT_GT(updates, 50u);
}

INSTANTIATE_TEST_SUITE_P(Learner, RolloutTwin,
                         testing::Values(TwinCase{"masks", [](TrainSpec&) {}},
                                         TwinCase{"statistics",
                                                  [](TrainSpec& s) {
                                                    s.learn.normalise_obs = s.learn.normalise_rewards =
                                                        true;
                                                    dqn(s).explore.steps = 3;
                                                  }}),
                         [](const auto& test) { return test.param.name; });

class PpoTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(PpoTwin, EqualsAPlainLoop) {
  TrainSpec spec = twin_spec();
  spec.algorithm = Algorithm::ppo;
  rollout(spec).n_steps = 6;
  spec.learn.batch = 6;
  rollout(spec).n_epochs = 2;
  rollout(spec).lambda = 0.7;
  spec.learn.train_every = rollout(spec).n_steps * kEnvs;
  ppo(spec).clip_range = linear(0.3, 0.05, 150);
  ppo(spec).ent_coef = linear(0.5, 0.01, 150);
  GetParam().change(spec);
  const QOptions& q = spec.q;
  PpoLearner learner(spec);
  const std::size_t places = static_cast<std::size_t>(q.rollout) * kEnvs;

  ObsNormaliser normaliser(kObs);
  RewardNormaliser reward_normaliser(kEnvs, q.gamma);
  Ppo ppo(network_structure(spec), std::get<ActorCriticHead>(network_head(spec)), spec.net.init,
          spec.ppo, spec.optimiser, spec.run.seed, kEnvs, q.batch,
          q.normalise_obs ? normaliser.scale() : nullptr);
  Rollout rollout(
      {.steps = q.rollout, .lanes = kEnvs, .obs = kObs, .actions = kActions, .masks = true});
  std::vector<float> raw(places), log_probability(places), distribution(places * kActions),
      values(places + kEnvs), boxes;
  Acted acted{raw, log_probability, distribution, values, values.size()};
  ThreadTeam team(1);
  Counters c;
  Window window;
  Actions actions({.name = {}, .actions = kActions}, kEnvs);
  std::vector<std::int32_t> expected(kEnvs);
  std::int64_t updates = 0, epochs = 0, rounds = 0;
  const auto value_at = [&](const float* obs) {
    float value = 0;
    ppo.values(obs, 1, &value, 1, team);
    return value;
  };

  Life life;
  learner.begin(life.obs, life.mask);
  rollout.begin(life.obs, life.mask);
  for (std::uint64_t step = 0; step < 60; ++step) {
    learner.act(life.obs, life.mask, step, c, team, actions);
    ppo.act(life.obs, life.mask, step, team, step % q.rollout * kEnvs, acted, expected, boxes);
    ASSERT_EQ(actions.numbers, expected) << "step " << step;
    const Transitions t = life.step(actions.numbers);
    c.env_steps += kEnvs;
    c.episodes += life.ended();
    learner.push(t, c);
    reward_normaliser.add(t.rewards, t.terminated, t.truncated);
    rollout.push(t);
    if (!rollout.full()) continue;

    const Progress began{c.env_steps - q.train_every, 0, c.episodes};
    ++c.train_events;
    learner.learn({c, window, team});
    for (std::size_t i = 0; i < places + kEnvs; ++i) values[i] = value_at(&rollout.obs()[i * kObs]);
    const std::vector<float> returns = returns_by_hand(
        rollout, q, q.normalise_rewards ? reward_normaliser.factor() : 1,
        [&](int place) { return values[place + kEnvs]; },
        [&](int place) { return value_at(&rollout.final_obs()[place * kObs]); });
    std::vector<float> advantages(places);
    for (std::size_t i = 0; i < places; ++i) advantages[i] = returns[i] - values[i];
    if (ppo(spec).advantages == Standardise::rollout) {
      double mean = 0, squares = 0;
      for (const float a : advantages) mean += a / double(places);
      for (const float a : advantages) squares += (a - mean) * (a - mean) / double(places);
      for (float& a : advantages) a = static_cast<float>((a - mean) / std::sqrt(squares));
    }
    double divergence = 0;  // of an epoch
    for (int epoch = 0; epoch < q.epochs; ++epoch) {
      if (ppo(spec).target_kl > 0 && divergence > ppo(spec).target_kl) break;
      divergence = 0;
      ++epochs;
      const std::vector<std::int32_t> order =
          shuffled(places, spec.run.seed, c.train_events * q.epochs + epoch);
      for (std::size_t first = 0; first < places; first += q.batch, ++updates) {
        Progress now = began;
        now.updates = updates;
        const Lesson lesson{rollout,
                            acted,
                            returns,
                            advantages,
                            ppo(spec).clip_range.at(now),
                            ppo(spec).ent_coef.at(now),
                            q.learning_rate.at(now)};
        const std::span<const std::int32_t> batch = std::span(order).subspan(first, q.batch);
        divergence += ppo.update(lesson, batch, team).kl * q.batch / double(places);
      }
    }
    normaliser.add(rollout.obs().first(places * kObs));
    rollout.restart();
    ++rounds;
    ASSERT_EQ(c.updates, updates);
    expect_near(learner.acting().online(), ppo.online(), c.updates);
  }
  EXPECT_GT(updates, 50);
  if (ppo(spec).target_kl > 0) {  // some epochs were left out, and not always all but one
    EXPECT_LT(epochs, rounds * q.epochs);
    EXPECT_GT(epochs, 2 * rounds);
  }
}

INSTANTIATE_TEST_SUITE_P(Learner, PpoTwin,
                         testing::Values(TwinCase{"masks", [](TrainSpec&) {}},
                                         TwinCase{"statistics",
                                                  [](TrainSpec& s) {
                                                    s.learn.normalise_obs = true;
                                                    s.learn.normalise_rewards = true;
                                                    ppo(s).advantages = Standardise::rollout;
                                                  }},
                                         TwinCase{"stops_early",
                                                  [](TrainSpec& s) {
                                                    rollout(s).n_epochs = 8;
                                                    ppo(s).target_kl = 0.02;
                                                  }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hotloop
