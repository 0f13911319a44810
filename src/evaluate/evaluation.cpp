#include "evaluate/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <hotloop/error.hpp>

#include "core/text.hpp"
#include "evaluate/recorder.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

// Uniform over the allowed actions, or within the action bounds.
void choose_randomly(const BatchEnv& env, Actions& chosen) {
  const EnvSpec& spec = env.spec();
  for (int row = 0; spec.actions == 0 && row < env.count(); ++row) {
    Rng rng(env.seed(), Purpose::exploration, static_cast<std::uint32_t>(row), env.steps());
    for (int i = 0; i < spec.action_size; ++i) {
      chosen.continuous[static_cast<std::size_t>(row) * spec.action_size + i] =
          static_cast<float>(rng.uniform(static_cast<double>(spec.action_low[i]),
                                         static_cast<double>(spec.action_high[i])));
    }
  }
  const std::span<std::int32_t> actions = chosen.discrete;
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
                         const std::function<void(Actions& actions)>& choose,
                         Demonstrations* record) {
  const int episodes = env.count();
  std::vector<PlayedEpisode> played(episodes);
  Actions actions(env.spec(), episodes);
  env.reset();
  std::optional<EpisodeRecorder> recorder;
  if (record != nullptr) recorder.emplace(env);
  std::int64_t steps = 0;
  int left = episodes;
  for (std::int64_t t = 0; left > 0 && t < max_steps; ++t) {
    choose(actions);
    if (recorder) recorder->before_step(actions);
    env.step(actions, team);
    if (recorder) recorder->after_step();
    const Episode* ended = env.finished().data();  // of the rows that ended, in row order
    for (int row = 0; row < episodes; ++row) {
      const bool ends = (env.terminated()[row] | env.truncated()[row]) != 0;
      const Episode* episode = ends ? ended++ : nullptr;
      PlayedEpisode& p = played[row];
      if (p.finished) continue;  // another episode of this row, not part of the evaluation
      p.total_return += static_cast<double>(env.rewards()[row]);
      ++p.length;
      ++steps;
      if (!ends) continue;
      p.finished = true;
      p.measures = episode->measures;
      --left;
    }
  }
  if (recorder) *record = recorder->finish();
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
    result.std += (p.total_return - result.mean) * (p.total_return - result.mean) / episodes;
  }
  result.std = std::sqrt(result.std);
  result.mean_length = static_cast<double>(steps) / episodes;
  result.episodes = std::move(played);
  return result;
}

GreedyPolicy::GreedyPolicy(const Structure& structure, std::shared_ptr<const ActionHead> head,
                           int rows)
    : head_(std::move(head)),
      rows_(rows),
      plan_(only_outputs(structure, 0, head_->outputs())),
      workspace_(plan_.structure(), rows, Use::inference),
      scratch_(
          arena_.take<float>(static_cast<std::size_t>(preferences()) * kLanes * block_count(rows))),
      preference_(block_count(rows)) {}

void GreedyPolicy::choose(std::span<const float> parameters, const InputScale* scale,
                          std::span<const float> obs, std::span<const std::uint8_t> mask,
                          ThreadTeam& team, Actions& actions, const Draws* draws) {
  team.run(block_count(rows_), [&](int first, int last, int) {
    forward(plan_, parameters, obs.data(), rows_, first, last, workspace_, scale);
    for (int block = first; block < last; ++block) {
      const std::size_t row = static_cast<std::size_t>(block) * kLanes;
      const PolicyLanes lanes{.outputs = workspace_.outputs(block),
                              .width = block_width(rows_, block),
                              .mask = mask.empty() ? nullptr : &mask[row * head_->actions()],
                              .rows = std::min(kLanes, rows_ - block * kLanes)};
      float* scratch = scratch_.data() + static_cast<std::size_t>(preferences()) * kLanes * block;
      preference_[block] = head_->compute_preferences(lanes, scratch);
      head_->choose(lanes, preference_[block], row, draws, actions);
    }
  });
}

std::string GreedyPolicy::opinion(int row) const {
  if (head_->is_continuous()) return "";
  std::string text = head_->is_policy() ? "p" : "Q";
  for (int a = 0; a < preferences(); ++a) {
    const float value = preference(row, a);
    text += fmt::format(" {:.2f}", head_->is_policy() ? std::exp(value) : value);
  }
  return text;
}

Evaluator::Evaluator(const EnvChoice& env, const EvaluationOptions& options, std::uint64_t seed,
                     const Structure& structure, std::shared_ptr<const ActionHead> head)
    : max_steps_(options.max_steps),
      env_(make_worlds(env, options.episodes), options.episodes, seed, Purpose::evaluation_world),
      policy_(structure, std::move(head), options.episodes) {}

Evaluation Evaluator::run(std::span<const float> parameters, const InputScale* scale,
                          ThreadTeam& team, bool sample, Demonstrations* record) {
  const auto choose = [&](Actions& actions) {
    const Draws draws{env_.seed(), env_.steps()};
    policy_.choose(parameters, scale, env_.obs(), env_.mask(), team, actions,
                   sample ? &draws : nullptr);
  };
  return play_episodes(env_, max_steps_, team, choose, record);
}

int script_number(const std::string& script, const EnvChoice& env) {
  const std::unique_ptr<Worlds> world = make_worlds(env, 1);
  std::vector<std::string_view> names = {"random"};
  names.insert(names.end(), world->scripts().begin(), world->scripts().end());
  const auto name = std::find(names.begin(), names.end(), script);
  if (name != names.end()) return static_cast<int>(name - names.begin());
  throw UsageError(
      fmt::format("{} has no policy \"{}\"; {}", env.name, script, suggestion(script, names)));
}

void choose_by_script(int script, const BatchEnv& env, Actions& actions) {
  if (script == 0) return choose_randomly(env, actions);
  const auto play = [&](auto& rows) {
    env.worlds().play(script - 1, 0, env.count(), env.seed(), Purpose::exploration, env.steps(),
                      std::span(rows));
  };
  if (env.spec().actions > 0) {
    play(actions.discrete);
  } else {
    play(actions.continuous);
  }
}

Evaluation evaluate_script(int script, const EnvChoice& choice, const EvaluationOptions& options,
                           std::uint64_t seed, ThreadTeam& team, Demonstrations* record) {
  BatchEnv env(make_worlds(choice, options.episodes), options.episodes, seed,
               Purpose::evaluation_world);
  return play_episodes(
      env, options.max_steps, team,
      [&](Actions& actions) { choose_by_script(script, env, actions); }, record);
}

}  // namespace hotloop
