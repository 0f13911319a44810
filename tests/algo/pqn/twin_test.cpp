// The learner of pqn against a plain loop: see twin.hpp.
#include "tests/algo/twin.hpp"

#include <cmath>

#include "algo/pqn/learner.hpp"
#include "reference/exploring_policy.hpp"
#include "reference/network.hpp"

namespace hotloop::twin {
namespace {

// Q(s, a) of all actions, by the slow network on observations scaled by hand.
std::vector<double> q_values(const QNetwork& network, const float* obs) {
  std::vector<double> x(obs, obs + kObs);
  if (const InputScale* scale = network.scale()) {
    for (int i = 0; i < kObs; ++i) {
      const double scaled = (x[i] - double{scale->mean[i]}) * double{scale->factor[i]};
      x[i] = std::max(-10.0, std::min(10.0, scaled));
    }
  }
  const std::vector<double> parameters(network.online().begin(), network.online().end());
  return reference::forward<double>(network.structure(), parameters, x).y.back();
}

// Of the largest over the allowed actions.
double best_value(const QNetwork& network, const float* obs, const std::uint8_t* mask) {
  const std::vector<double> q = q_values(network, obs);
  double best = -INFINITY;
  for (int a = 0; a < kActions; ++a) {
    if (mask[a] != 0) best = std::max(best, q[a]);
  }
  return best;
}

class PqnTwin : public testing::TestWithParam<Case> {};

TEST_P(PqnTwin, EqualsAPlainLoop) {
  AgentSpec spec = rollout_spec("pqn");
  pqn(spec).explore.epsilon = linear(0.9, 0.1, 150);
  GetParam().change(spec);
  const LearningOptions& l = spec.learn;
  const PqnOptions& o = pqn(spec);
  PqnLearner learner(spec, kWorld, kSeed);

  ObsNormaliser normaliser(kObs);
  RewardNormaliser reward_normaliser(kEnvs, l.gamma);
  Pqn pqn(learner.acting().structure(), spec, kSeed,
          l.normalise_obs ? normaliser.scale() : nullptr);
  Rollout rollout = make_rollout(o.rollout);
  ThreadTeam team(1);
  Counters c;
  Window window;
  Actions actions({.name = {}, .actions = kActions}, kEnvs);
  std::vector<std::int32_t> expected(kEnvs);
  std::vector<double> next_values;  // [T, N], of the next states
  std::uint64_t updates = 0;

  Life life;
  learner.begin(life.obs, life.mask);
  normaliser.add(life.obs);
  rollout.begin(life.obs, life.mask);
  for (std::uint64_t step = 0; step < 60; ++step) {
    learner.act(life.obs, life.mask, step, c, team, actions);
    pqn.network().act(life.obs, life.mask, exploration_of(o.explore, c), step, team, expected);
    ASSERT_EQ(actions.discrete, expected) << "step " << step;
    const QNetwork& network = pqn.network();
    // A state is valued when an action is taken there, with the statistics of that moment.
    for (int env = 0; env < kEnvs && step % o.rollout.n_steps > 0; ++env)
      next_values.push_back(best_value(network, &life.obs[env * kObs], &life.mask[env * kActions]));

    const Transitions t = life.step(actions.discrete);
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
        rollout, o.rollout, l.gamma, l.normalise_rewards ? reward_normaliser.factor() : 1,
        [&](int place) { return next_values[place]; },
        [&](int place) {
          return best_value(network, &rollout.final_obs()[place * kObs],
                            &rollout.final_mask()[place * kActions]);
        });
    next_values.clear();
    for (int epoch = 0; epoch < o.rollout.n_epochs; ++epoch) {
      const std::vector<std::int32_t> order =
          shuffled(returns.size(), c.train_events * o.rollout.n_epochs + epoch);
      for (std::size_t first = 0; first < order.size(); first += l.batch) {
        const Progress now{c.env_steps, static_cast<std::int64_t>(updates), c.episodes};
        pqn.update(rollout, std::span(order).subspan(first, l.batch), returns,
                   spec.optimiser.learning_rate.at(now), updates, team);
        ++updates;
      }
    }
    rollout.restart();
    expect_near(learner.acting().online(), pqn.network().online(), c.updates);
  }
  EXPECT_EQ(c.updates, static_cast<std::int64_t>(updates));
  EXPECT_GT(updates, 50u);
}

INSTANTIATE_TEST_SUITE_P(Learner, PqnTwin,
                         testing::Values(Case{"masks", [](AgentSpec&) {}},
                                         Case{"statistics",
                                              [](AgentSpec& s) {
                                                s.learn.normalise_obs = true;
                                                s.learn.normalise_rewards = true;
                                                pqn(s).explore.steps = 3;
                                              }}),
                         [](const auto& test) { return test.param.name; });

class SarsaTwin : public testing::TestWithParam<Case> {};

// The same loop with V(s) = Q(s, a) of the action taken next, which is chosen before learning at
// the end of a rollout, and the expectation over the policy in the final states of truncated
// episodes.
TEST_P(SarsaTwin, EqualsAPlainLoop) {
  AgentSpec spec = rollout_spec("sarsa");
  pqn(spec).explore.epsilon = linear(0.9, 0.1, 150);
  GetParam().change(spec);
  const PqnOptions& o = pqn(spec);
  PqnLearner learner(spec, kWorld, kSeed);
  Pqn pqn(learner.acting().structure(), spec, kSeed);
  QNetwork& network = pqn.network();
  Rollout rollout = make_rollout(o.rollout);
  ThreadTeam team(1);
  Counters c;
  Window window;
  Actions actions({.name = {}, .actions = kActions}, kEnvs);
  std::vector<std::int32_t> next(kEnvs);  // the actions taken next
  std::vector<double> next_values;        // [T, N], of the next states
  std::uint64_t updates = 0;

  Life life;
  const auto choose = [&](std::uint64_t step) {
    network.act(life.obs, life.mask, exploration_of(o.explore, c), step, team, next);
    for (int env = 0; env < kEnvs && step > 0; ++env)
      next_values.push_back(q_values(network, &life.obs[env * kObs])[next[env]]);
  };
  learner.begin(life.obs, life.mask);
  rollout.begin(life.obs, life.mask);
  choose(0);
  for (std::uint64_t step = 0; step < 60; ++step) {
    learner.act(life.obs, life.mask, step, c, team, actions);
    ASSERT_EQ(actions.discrete, next) << "step " << step;
    const Transitions t = life.step(actions.discrete);
    c.env_steps += kEnvs;
    c.episodes += life.ended();
    learner.push(t, c);
    rollout.push(t);
    choose(step + 1);
    if (!rollout.full()) continue;

    const Exploration policy = exploration_of(o.explore, c);
    ++c.train_events;
    learner.learn({c, window, team});
    const std::vector<float> returns = returns_by_hand(
        rollout, o.rollout, spec.learn.gamma, 1, [&](int place) { return next_values[place]; },
        [&](int place) {
          return reference::expected_q(q_values(network, &rollout.final_obs()[place * kObs]),
                                       &rollout.final_mask()[place * kActions], policy);
        });
    next_values.clear();
    for (int epoch = 0; epoch < o.rollout.n_epochs; ++epoch) {
      const std::vector<std::int32_t> order =
          shuffled(returns.size(), c.train_events * o.rollout.n_epochs + epoch);
      for (std::size_t first = 0; first < order.size(); first += spec.learn.batch) {
        const Progress now{c.env_steps, static_cast<std::int64_t>(updates), c.episodes};
        pqn.update(rollout, std::span(order).subspan(first, spec.learn.batch), returns,
                   spec.optimiser.learning_rate.at(now), updates, team);
        ++updates;
      }
    }
    rollout.restart();
    expect_near(learner.acting().online(), network.online(), c.updates);
  }
  EXPECT_GT(updates, 50u);
}

INSTANTIATE_TEST_SUITE_P(Learner, SarsaTwin,
                         testing::Values(Case{"epsilon_greedy", [](AgentSpec&) {}},
                                         Case{"boltzmann",
                                              [](AgentSpec& s) {
                                                pqn(s).explore.kind = Explore::boltzmann;
                                              }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hotloop::twin
