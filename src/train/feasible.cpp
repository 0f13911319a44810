#include "train/feasible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <hotloop/error.hpp>

#include "algo/common/action_head.hpp"
#include "core/system.hpp"
#include "core/text.hpp"
#include "env/batch_env.hpp"
#include "net/network.hpp"

namespace hotloop {
namespace {

void check_actions(const TrainSpec& spec, const EnvSpec& env) {
  const Algorithm& algorithm = *spec.algorithm;
  if (env.actions == 0 && !algorithm.facts().continuous) {
    throw UsageError(
        fmt::format("env.name: {} takes {} continuous action{}; {} supports only "
                    "discrete ones",
                    spec.env, env.action_size, env.action_size == 1 ? "" : "s", algorithm.name()));
  }
  if (env.actions > 0 && !algorithm.facts().discrete) {
    throw UsageError(fmt::format(
        "env.name: {} takes one of {} discrete actions; {} supports only continuous ones", spec.env,
        env.actions, algorithm.name()));
  }
}

// The arrays of BatchEnv, with masks, and the result of an episode.
double evaluation_bytes_per_row(const EnvSpec& env) {
  return 2.0 * (sizeof(float) * env.obs + env.actions + sizeof(Episode));
}

}  // namespace

double solved_threshold(const EvaluationOptions& options, const EnvSpec& env) {
  return std::isnan(options.threshold) ? env.solved_return : options.threshold;
}

double solved_threshold(const TrainSpec& spec) {
  return solved_threshold(spec.evaluation, env_spec(spec.world()));
}

WorldFacts check_feasible(const TrainSpec& spec) {
  WorldFacts world = world_facts(spec.world());
  const Algorithm& algorithm = *spec.algorithm;
  check_actions(spec, world.spec);
  algorithm.check_world(spec, spec.env, world);
  if (spec.evaluation.stop_when_solved &&
      std::isnan(solved_threshold(spec.evaluation, world.spec))) {
    throw UsageError(
        fmt::format("evaluation.stop_when_solved: needs evaluation.threshold, because {} does not "
                    "define when it is solved",
                    spec.env));
  }
  const double available = static_cast<double>(memory_bytes());
  // Throws if the network does not fit the environment.
  const MemoryNeed need = algorithm.memory_need(spec, world);
  if (need.experience + need.network > kMaxShareOfMemory * available) {
    throw UsageError(algorithm.too_large(spec, world, available));
  }
  check_evaluation_fits(algorithm.network(spec, world), *algorithm.head(spec, world), world.spec,
                        spec.evaluation.episodes, need.experience + need.network);
  return world;
}

void check_evaluation_fits(const Structure& network, const ActionHead& head, const EnvSpec& env,
                           int episodes, double other) {
  const Structure acting = only_outputs(network, 0, head.outputs());
  const double each = evaluation_bytes_per_row(env) + sizeof(float) * head.preferences();
  const auto bytes_of = [&](int rows) {
    return static_cast<double>(Workspace::bytes_needed(acting, rows, Use::inference)) + rows * each;
  };
  const double available = static_cast<double>(memory_bytes());
  const double room = kMaxShareOfMemory * available - other;
  // The system's answer to a request of this size can be believed; larger ones it grants unseen.
  constexpr double kSmall = 0x1p26;
  if (bytes_of(episodes) <= std::max(room, kSmall)) return;
  throw UsageError(
      fmt::format("evaluation.episodes: {} episodes are played at the same time and need {}{}, but "
                  "this process has only {} of memory; at most {} fit",
                  episodes, size_text(bytes_of(episodes)),
                  other > 0 ? fmt::format(" beside the {} of training", size_text(other)) : "",
                  size_text(available),
                  static_cast<std::int64_t>(std::max(0.0, room / (bytes_of(kLanes) / kLanes)))));
}

Structure network_structure(const TrainSpec& spec) {
  return spec.algorithm->network(spec, world_facts(spec.world()));
}

std::shared_ptr<const ActionHead> network_head(const TrainSpec& spec) {
  return spec.algorithm->head(spec, world_facts(spec.world()));
}

}  // namespace hotloop
