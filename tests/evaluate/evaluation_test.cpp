#include "evaluate/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <hotloop/error.hpp>

#include "train/feasible.hpp"

namespace hotloop {
namespace {

Evaluation play_randomly(const EnvChoice& env, int episodes, std::int64_t max_steps, int threads) {
  EvaluationOptions options;
  options.episodes = episodes;
  options.max_steps = max_steps;
  ThreadTeam team(threads);
  return evaluate_script(script_number("random", env), env, options, 5, team);
}

// CartPole pays 1 per step.
TEST(Evaluation, KeepsItsEpisodes) {
  const Evaluation e = play_randomly({"cartpole"}, 40, 1'000, 1);
  ASSERT_EQ(e.episodes.size(), 40u);
  double sum = 0, squares = 0;
  for (const PlayedEpisode& episode : e.episodes) {
    EXPECT_TRUE(episode.finished);
    EXPECT_EQ(episode.total_return, static_cast<double>(episode.length));
    sum += episode.total_return;
  }
  for (const double value : returns_of(e)) squares += (value - sum / 40) * (value - sum / 40);
  EXPECT_NEAR(e.mean, sum / 40, 1e-9);
  EXPECT_NEAR(e.mean_length, sum / 40, 1e-9);
  EXPECT_NEAR(e.std, std::sqrt(squares / 40), 1e-9);
  EXPECT_NE(e.episodes[0].length, e.episodes[1].length) << "rows have starts of their own";
  EXPECT_EQ(returns_of(play_randomly({"cartpole"}, 40, 1'000, 2)), returns_of(e));
}

// No pole falls within 5 steps.
TEST(Evaluation, EpisodesCutAtMaxStepsAreNotFinished) {
  const Evaluation e = play_randomly({"cartpole"}, 10, 5, 1);
  for (const PlayedEpisode& episode : e.episodes) {
    EXPECT_FALSE(episode.finished);
    EXPECT_EQ(episode.length, 5);
  }
}

// The recorded actions are played again, one row at a time.
void expect_played(const EnvChoice& choice, int episodes, std::int64_t max_steps) {
  EvaluationOptions options;
  options.episodes = episodes;
  options.max_steps = max_steps;
  ThreadTeam team(1);
  Demonstrations d;
  const Evaluation e = evaluate_script(0, choice, options, 5, team, &d);
  ASSERT_EQ(d.episodes(), episodes);
  BatchEnv env(make_worlds(choice, episodes), episodes, 5, Purpose::evaluation_world);
  const auto width = static_cast<std::size_t>(env.spec().obs);
  const auto actions = static_cast<std::size_t>(env.spec().actions);
  const auto expect_row = [&](const auto& rows, std::size_t at, const auto& wanted, std::size_t row,
                              std::size_t size) {
    ASSERT_TRUE(std::equal(rows.begin() + at * size, rows.begin() + (at + 1) * size,
                           wanted.begin() + row * size))
        << "transition " << at;
  };
  std::size_t at = 0;
  for (int row = 0; row < episodes; ++row) {
    env.reset();
    Actions played(env.spec(), episodes);
    double total = 0;
    for (std::int64_t t = 0; t < e.episodes[row].length; ++t, ++at) {
      expect_row(d.obs, at, env.obs(), row, width);
      if (env.has_mask()) expect_row(d.mask, at, env.mask(), row, actions);
      for (int other = 0; actions > 0 && other < episodes; ++other) {
        played.discrete[other] = 0;
        while (env.has_mask() && env.mask()[other * actions + played.discrete[other]] == 0) {
          ++played.discrete[other];
        }
      }
      if (actions > 0) {
        played.discrete[row] = d.actions[at];
      } else {
        played.continuous[row] = d.continuous_actions[at];
      }
      env.step(played, team);
      ASSERT_EQ(d.rewards[at], env.rewards()[row]);
      ASSERT_EQ(d.terminated[at], env.terminated()[row]);
      const bool cut = t + 1 == e.episodes[row].length && !e.episodes[row].finished;
      ASSERT_EQ(d.truncated[at], cut ? 1 : env.truncated()[row]);
      total += static_cast<double>(env.rewards()[row]);
    }
    EXPECT_TRUE(d.ends_episode(static_cast<std::int64_t>(at) - 1));
    EXPECT_EQ(total, e.episodes[row].total_return);
    expect_row(d.final_obs, row, e.episodes[row].finished ? env.final_obs() : env.obs(), row,
               width);
  }
  EXPECT_EQ(static_cast<std::int64_t>(at), d.size());
}

TEST(Evaluation, RecordsTheTransitionsOfItsEpisodes) {
  expect_played({"cartpole"}, 5, 1'000);
  expect_played({"cartpole"}, 3, 12);        // some end, some are cut
  expect_played({"mountaincar"}, 2, 1'000);  // truncated by the environment
  expect_played({"pendulum"}, 2, 1'000);
  expect_played({"sfc", {{"mask", "on"}, {"max_steps", "40"}}}, 3, 1'000);
}

TEST(Evaluation, MeasuresAreMeansOverEpisodes) {
  const EnvChoice snake{"snake", {}};
  const Evaluation e = play_randomly(snake, 50, 10'000, 1);
  const EnvSpec spec = env_spec(snake);
  double of_all = 0;
  for (int i = 0; i < spec.measure_count(); ++i) {
    const std::vector<double> values = measures_of(e, i);
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 50, e.measures[i], 1e-9);
    of_all += e.measures[i];
  }
  EXPECT_GT(of_all, 0);
}

TEST(Evaluation, KeepsTheLargestOfEachMeasure) {
  const EnvChoice snake{"snake", {}};
  const Evaluation e = play_randomly(snake, 50, 10'000, 1);
  const EnvSpec spec = env_spec(snake);
  int fell_again = 0;
  for (int i = 0; i < spec.measure_count(); ++i) {
    const std::vector<double> values = measures_of(e, i);
    EXPECT_EQ(e.largest[i], *std::max_element(values.begin(), values.end())) << spec.measures[i];
    fell_again += values.back() < e.largest[i];
  }
  EXPECT_GT(fell_again, 0) << "the last episode is not the largest in everything";
}

TEST(Evaluation, UnknownPoliciesAreNamed) {
  try {
    script_number("astra", {"snake", {}});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean astar?"), std::string::npos);
  }
  EXPECT_EQ(script_number("random", {"pendulum", {}}), 0)
      << "continuous actions can be drawn as well";
}

// An untrained policy is nearly uniform: sampled actions are like random ones, greedy ones are not.
// Both are repeatable.
TEST(Evaluation, APolicyMaySample) {
  TrainSpec spec = load_spec("cartpole_ppo");
  const Structure net = network_structure(spec);
  std::vector<float> parameters(net.storage);
  initialise(net, spec.net.init, 3, parameters);
  ThreadTeam team(2);
  Evaluator evaluator(spec.world(), spec.evaluation, 5, net, network_head(spec));
  const Evaluation greedy = evaluator.run(parameters, nullptr, team);
  const Evaluation drawn = evaluator.run(parameters, nullptr, team, true);
  EXPECT_NEAR(drawn.mean, 22, 4);
  EXPECT_NE(returns_of(greedy), returns_of(drawn));
  EXPECT_EQ(returns_of(evaluator.run(parameters, nullptr, team, true)), returns_of(drawn));
  EXPECT_EQ(returns_of(evaluator.run(parameters, nullptr, team)), returns_of(greedy));
}

// Rows of different blocks of lanes draw different random numbers, although all have the same
// observation.
TEST(Evaluation, NoTwoRowsShareRandomNumbers) {
  constexpr int kRows = 70;
  const TrainSpec spec = load_spec("cartpole_ppo");
  const Structure net = network_structure(spec);
  std::vector<float> parameters(net.storage);
  initialise(net, spec.net.init, 3, parameters);
  GreedyPolicy policy(net, network_head(spec), kRows);
  ThreadTeam team(1);
  const std::vector<float> obs(static_cast<std::size_t>(kRows) * net.inputs, 0.1f);
  Actions actions(env_spec(spec.world()), kRows);
  std::vector<std::vector<std::int32_t>> taken(kRows);
  for (std::uint64_t step = 0; step < 60; ++step) {
    const Draws draws{5, step};
    policy.choose(parameters, nullptr, obs, {}, team, actions, &draws);
    for (int row = 0; row < kRows; ++row) taken[row].push_back(actions.discrete[row]);
  }
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(std::unique(taken.begin(), taken.end()), taken.end());
}

}  // namespace
}  // namespace hotloop
