#include "run/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <hotloop/error.hpp>

#include "core/text.hpp"
#include "run/progress.hpp"

namespace hotloop {
namespace {

// Uniform among the allowed actions.
void choose_randomly(const BatchEnv& env, std::span<std::int32_t> actions) {
  const auto width = static_cast<std::size_t>(env.spec().actions);
  for (std::size_t row = 0; row < actions.size(); ++row) {
    Rng rng(env.seed(), Purpose::exploration, static_cast<std::uint32_t>(row), env.steps());
    do {
      actions[row] = static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(width)));
    } while (env.has_mask() && env.mask()[row * width + actions[row]] == 0);
  }
}

}  // namespace

std::vector<double> returns_of(const Evaluation& evaluation) {
  std::vector<double> values;
  for (const PlayedEpisode& p : evaluation.episodes) values.push_back(p.total_return);
  return values;
}

std::vector<double> measures_of(const Evaluation& evaluation, int measure) {
  std::vector<double> values;
  for (const PlayedEpisode& p : evaluation.episodes) values.push_back(p.measures[measure]);
  return values;
}

Evaluation play_episodes(BatchEnv& env, std::int64_t max_steps, ThreadTeam& team,
                         const std::function<void(std::span<std::int32_t> actions)>& choose) {
  const int episodes = env.count();
  std::vector<PlayedEpisode> played(episodes);
  std::vector<std::int32_t> actions(episodes);
  env.reset();
  std::int64_t steps = 0;
  int left = episodes;
  for (std::int64_t t = 0; left > 0 && t < max_steps; ++t) {
    choose(actions);
    env.step(actions, team);
    const Episode* ended = env.finished().data();  // those of the rows that ended, in row order
    for (int row = 0; row < episodes; ++row) {
      const bool ends = (env.terminated()[row] | env.truncated()[row]) != 0;
      const Episode* episode = ends ? ended++ : nullptr;
      PlayedEpisode& p = played[row];
      if (p.finished) continue;  // a further episode of this row, not part of the evaluation
      p.total_return += static_cast<double>(env.rewards()[row]);
      ++p.length;
      ++steps;
      if (!ends) continue;
      p.finished = true;
      p.measures = episode->measures;
      --left;
    }
  }
  Evaluation result;
  for (int row = 0; row < episodes; ++row) {
    PlayedEpisode& p = played[row];
    if (!p.finished) env.worlds().measure(row, p.measures);
    result.mean += p.total_return / episodes;
  }
  for (int i = 0; i < kMaxMeasures; ++i) {
    double sum = 0, count = 0, largest = kNone;
    for (const PlayedEpisode& p : played) {
      const double value = p.measures[i];
      if (std::isnan(value)) continue;
      sum += value;
      largest = count++ == 0 ? value : std::max(largest, value);
    }
    result.measures[i] = sum / count;
    result.largest[i] = largest;
  }
  for (const PlayedEpisode& p : played) {
    result.deviation += (p.total_return - result.mean) * (p.total_return - result.mean) / episodes;
  }
  result.deviation = std::sqrt(result.deviation);
  result.mean_length = static_cast<double>(steps) / episodes;
  result.episodes = std::move(played);
  return result;
}

GreedyPolicy::GreedyPolicy(const Structure& structure, const QHead& head, int rows)
    : head_(head),
      rows_(rows),
      workspace_(structure, rows, Use::inference),
      scratch_(arena_.take<float>(values_scratch(head) * block_count(rows))),
      q_(block_count(rows)) {}

void GreedyPolicy::choose(const Plan& plan, std::span<const float> parameters,
                          const InputScale* scale, std::span<const float> obs,
                          std::span<const std::uint8_t> mask, ThreadTeam& team,
                          std::span<std::int32_t> actions) {
  team.run(block_count(rows_), [&](int first, int last, int) {
    forward(plan, parameters, obs.data(), rows_, first, last, workspace_, scale);
    for (int block = first; block < last; ++block) {
      const std::size_t row = static_cast<std::size_t>(block) * kLanes;
      const int rows = std::min(kLanes, rows_ - block * kLanes);
      q_[block] = action_values(head_, workspace_.outputs(block), block_width(rows_, block),
                                scratch_.data() + values_scratch(head_) * block);
      std::array<std::int32_t, kLanes> greedy;
      greedy_actions(q_[block], head_.actions, rows,
                     mask.empty() ? nullptr : &mask[row * head_.actions], greedy.data());
      std::copy_n(greedy.begin(), rows, &actions[row]);
    }
  });
}

void GreedyPolicy::values(int row, std::span<float> q) const {
  for (int a = 0; a < head_.actions; ++a) q[a] = q_[row / kLanes][a * kLanes + row % kLanes];
}

Evaluator::Evaluator(const EnvChoice& env, const EvaluationOptions& options, std::uint64_t seed,
                     const Structure& structure, const QHead& head)
    : max_steps_(options.max_steps),
      env_(make_worlds(env, options.episodes), options.episodes, seed, Purpose::evaluation_world),
      policy_(structure, head, options.episodes) {}

Evaluation Evaluator::run(const Plan& plan, std::span<const float> parameters,
                          const InputScale* scale, ThreadTeam& team) {
  return play_episodes(env_, max_steps_, team, [&](std::span<std::int32_t> actions) {
    policy_.choose(plan, parameters, scale, env_.obs(), env_.mask(), team, actions);
  });
}

int script_number(const std::string& script, const EnvChoice& env) {
  const std::unique_ptr<WorldArray> world = make_worlds(env, 1);
  if (world->spec().actions == 0) {
    throw UsageError(
        fmt::format("{} takes a box, not numbered actions: policies need those", env.name));
  }
  std::vector<std::string_view> names = {"random"};
  names.insert(names.end(), world->scripts().begin(), world->scripts().end());
  const auto name = std::find(names.begin(), names.end(), script);
  if (name != names.end()) return static_cast<int>(name - names.begin());
  throw UsageError(
      fmt::format("{} has no policy \"{}\"; {}", env.name, script, suggestion(script, names)));
}

void choose_by_script(int script, const BatchEnv& env, std::span<std::int32_t> actions) {
  if (script == 0) return choose_randomly(env, actions);
  env.worlds().play(script - 1, 0, env.count(), env.seed(), Purpose::exploration, env.steps(),
                    actions);
}

Evaluation evaluate_script(int script, const EnvChoice& choice, const EvaluationOptions& options,
                           std::uint64_t seed, ThreadTeam& team) {
  BatchEnv env(make_worlds(choice, options.episodes), options.episodes, seed,
               Purpose::evaluation_world);
  return play_episodes(env, options.max_steps, team, [&](std::span<std::int32_t> actions) {
    choose_by_script(script, env, actions);
  });
}

}  // namespace hotloop
