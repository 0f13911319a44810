// The learner of ppo against a plain loop: see twin.hpp.
#include "tests/algo/twin.hpp"

#include <cmath>

#include "algo/ppo/learner.hpp"

namespace hotloop::twin {
namespace {

class PpoTwin : public testing::TestWithParam<Case> {};

TEST_P(PpoTwin, EqualsAPlainLoop) {
  AgentSpec spec = rollout_spec("ppo");
  ppo(spec).clip_range = linear(0.3, 0.05, 150);
  ppo(spec).ent_coef = linear(0.5, 0.01, 150);
  GetParam().change(spec);
  spec.algorithm->derive(spec);
  const LearningOptions& l = spec.learn;
  const PpoOptions& o = ppo(spec);
  const int steps = o.rollout.n_steps;
  PpoLearner learner(spec, kWorld, kSeed);
  const std::size_t places = static_cast<std::size_t>(steps) * kEnvs;

  ObsNormaliser normaliser(kObs);
  RewardNormaliser reward_normaliser(kEnvs, l.gamma);
  Ppo ppo(spec.algorithm->network(spec, kWorld), ppo_head(spec, kWorld), spec, kSeed,
          l.normalise_obs ? normaliser.scale() : nullptr);
  Rollout rollout = make_rollout(o.rollout);
  std::vector<float> raw(places), log_probability(places), distribution(places * kActions),
      values(places + kEnvs), continuous;
  OldPolicy acted{raw, log_probability, distribution, values, values.size()};
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
    ppo.act(life.obs, life.mask, step, team, step % steps * kEnvs, acted, expected, continuous);
    ASSERT_EQ(actions.discrete, expected) << "step " << step;
    const Transitions t = life.step(actions.discrete);
    c.env_steps += kEnvs;
    c.episodes += life.ended();
    learner.push(t, c);
    reward_normaliser.add(t.rewards, t.terminated, t.truncated);
    rollout.push(t);
    if (!rollout.full()) continue;

    const Progress began{c.env_steps - static_cast<std::int64_t>(places), 0, c.episodes};
    ++c.train_events;
    learner.learn({c, window, team});
    for (std::size_t i = 0; i < places + kEnvs; ++i) values[i] = value_at(&rollout.obs()[i * kObs]);
    const std::vector<float> returns = returns_by_hand(
        rollout, o.rollout, l.gamma, l.normalise_rewards ? reward_normaliser.factor() : 1,
        [&](int place) { return values[place + kEnvs]; },
        [&](int place) { return value_at(&rollout.final_obs()[place * kObs]); });
    std::vector<float> advantages(places);
    for (std::size_t i = 0; i < places; ++i) advantages[i] = returns[i] - values[i];
    if (o.advantages == Standardise::rollout) {
      double mean = 0, squares = 0;
      for (const float a : advantages) mean += a / double(places);
      for (const float a : advantages) squares += (a - mean) * (a - mean) / double(places);
      for (float& a : advantages) a = static_cast<float>((a - mean) / std::sqrt(squares));
    }
    double divergence = 0;  // of an epoch
    for (int epoch = 0; epoch < o.rollout.n_epochs; ++epoch) {
      if (o.target_kl > 0 && divergence > o.target_kl) break;
      divergence = 0;
      ++epochs;
      const std::vector<std::int32_t> order =
          shuffled(places, c.train_events * o.rollout.n_epochs + epoch);
      for (std::size_t first = 0; first < places; first += l.batch, ++updates) {
        Progress now = began;
        now.updates = updates;
        const UpdateInput lesson{rollout,
                                 acted,
                                 returns,
                                 advantages,
                                 o.clip_range.at(now),
                                 o.ent_coef.at(now),
                                 spec.optimiser.learning_rate.at(now)};
        const std::span<const std::int32_t> batch = std::span(order).subspan(first, l.batch);
        divergence += ppo.update(lesson, batch, team).kl * l.batch / double(places);
      }
    }
    normaliser.add(rollout.obs().first(places * kObs));
    rollout.restart();
    ++rounds;
    ASSERT_EQ(c.updates, updates);
    expect_near(learner.acting().online(), ppo.online(), c.updates);
  }
  EXPECT_GT(updates, 50);
  if (o.target_kl > 0) {  // some epochs were skipped, but not always all except one
    EXPECT_LT(epochs, rounds * o.rollout.n_epochs);
    EXPECT_GT(epochs, 2 * rounds);
  }
}

INSTANTIATE_TEST_SUITE_P(Learner, PpoTwin,
                         testing::Values(Case{"masks", [](AgentSpec&) {}},
                                         Case{"statistics",
                                              [](AgentSpec& s) {
                                                s.learn.normalise_obs = true;
                                                s.learn.normalise_rewards = true;
                                                ppo(s).advantages = Standardise::rollout;
                                              }},
                                         Case{"stops_early",
                                              [](AgentSpec& s) {
                                                rollout(s).n_epochs = 8;
                                                ppo(s).target_kl = 0.02;
                                              }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hotloop::twin
