#include "train/feasible.hpp"

#include <fmt/format.h>

#include <cmath>

#include <hotloop/error.hpp>

#include "core/system.hpp"

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
  return world;
}

Structure network_structure(const TrainSpec& spec) {
  return spec.algorithm->network(spec, world_facts(spec.world()));
}

std::shared_ptr<const ActionHead> network_head(const TrainSpec& spec) {
  return spec.algorithm->head(spec, world_facts(spec.world()));
}

}  // namespace hotloop
