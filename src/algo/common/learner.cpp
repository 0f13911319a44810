#include "algo/common/learner.hpp"

#include <fmt/format.h>

#include <cmath>

#include <hotloop/error.hpp>

#include "algo/ppo/ppo_learner.hpp"
#include "algo/dqn/dqn_learner.hpp"
#include "algo/pqn/pqn_learner.hpp"

namespace hotloop {

Transitions latest_transitions(const BatchEnv& env, const Actions& actions) {
  return {.actions = actions.numbers,
          .rewards = env.rewards(),
          .terminated = env.terminated(),
          .truncated = env.truncated(),
          .next_obs = env.obs(),
          .next_mask = env.mask(),
          .final_obs = env.final_obs(),
          .final_mask = env.final_mask(),
          .reward_parts = env.reward_parts(),
          .continuous_actions = actions.boxes};
}

std::unique_ptr<Learner> make_learner(const TrainSpec& spec) {
  if (spec.algorithm == Algorithm::dqn) return std::make_unique<ReplayLearner>(spec);
  if (spec.algorithm == Algorithm::ppo) return std::make_unique<PpoLearner>(spec);
  return std::make_unique<RolloutLearner>(spec);
}

ReplayShape replay_shape(const TrainSpec& spec) {
  const std::unique_ptr<WorldArray> world = make_worlds(spec.world(), 1);
  const QOptions& q = spec.q;
  return {.lanes = spec.envs,
          .obs = world->spec().obs,
          .actions = world->spec().actions,
          .action_size = world->spec().action_size,
          .masks = world->has_mask(),
          .max_steps = q.truncation_ends ? 0 : steps_between_truncations(*world),
          .capacity = q.replay_capacity,
          .steps = q.n_step,
          .gamma = q.gamma,
          .newest = q.newest,
          .prioritised = q.prioritised,
          .alpha = q.priority_alpha,
          .priority_epsilon = q.priority_epsilon};
}

RolloutShape rollout_shape(const TrainSpec& spec) {
  const std::unique_ptr<WorldArray> world = make_worlds(spec.world(), 1);
  return {.steps = spec.q.rollout,
          .lanes = spec.envs,
          .obs = world->spec().obs,
          .actions = world->spec().actions,
          .masks = world->has_mask(),
          .parts = static_cast<int>(spec.ppo.part_weights.size())};
}

namespace {

// The whole observation as a grid, if that is what its only part is; else of size 0.
GridShape grid_of(const EnvSpec& env) {
  const auto [height, width, channels] = env.parts[0].shape;
  const GridShape grid{height, width, channels};
  return grid.size() == env.obs ? grid : GridShape{};
}

std::vector<InputPart> parts_of(const EnvSpec& env) {
  std::vector<InputPart> parts;
  for (const ObsPart& part : env.parts) {
    if (part.name.empty()) break;
    const int rows = part.shape[1] > 0 ? part.shape[0] : 1;
    parts.push_back({std::string(part.name), rows, part.size() / rows});
  }
  return parts;
}

}  // namespace

Structure network_structure(const TrainSpec& spec) {
  const EnvSpec env = env_spec(spec.world());
  const GridShape grid = grid_of(env);
  if (!spec.net.channels.empty() && grid.size() == 0) {
    throw UsageError(fmt::format(
        "net.channels: the observation of {} is not a grid [height, width, channels]; leave it out "
        "(net.channels: []) or choose another environment",
        spec.env));
  }
  if (spec.algorithm != Algorithm::ppo) {
    return make_mlp(env.obs, env.actions, spec.net, make_head(spec.q, env.actions).atoms, grid,
                    parts_of(env));
  }
  const bool free = env.actions == 0 && spec.ppo.deviation == Deviation::free;
  const ActorCriticHead head = std::get<ActorCriticHead>(network_head(spec));
  return make_actor_critic(env.obs,
                           {.policy = free ? env.action_size : head.policy.outputs(),
                            .free = free ? env.action_size : 0,
                            .free_initial = static_cast<float>(spec.ppo.log_deviation),
                            .values = head.values},
                           spec.net, grid, parts_of(env));
}

Head network_head(const TrainSpec& spec) {
  const EnvSpec env = env_spec(spec.world());
  if (spec.algorithm != Algorithm::ppo) return make_head(spec.q, env.actions);
  const bool is_box = env.actions == 0;
  return ActorCriticHead{.policy = {.kind = is_box ? PolicyKind::gaussian : PolicyKind::categorical,
                                    .actions = is_box ? env.action_size : env.actions,
                                    .squash = spec.ppo.squash,
                                    .low = env.action_low,
                                    .high = env.action_high},
                         .values = 1 + static_cast<int>(spec.ppo.part_weights.size())};
}

// Safe against 0.1 * 10 falling short of 1.
std::int64_t owed_updates(const QOptions& o, std::int64_t train_events) {
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(train_events * o.train_every) * o.updates_per_step + 1e-6));
}

}  // namespace hotloop
