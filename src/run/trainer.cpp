#include "run/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <hotloop/error.hpp>

#include "core/system.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

BatchEnv make_env(const TrainSpec& spec) {
  return {find_env(spec.env).make(spec.envs), spec.envs, spec.run.seed, Purpose::world};
}

std::int64_t whole_vector_steps(std::int64_t steps, int envs) {
  return (steps + envs - 1) / envs * envs;
}

// floor(rounds * updates per round), safe against 0.1 * 10 falling short of 1.
std::int64_t owed_updates(const DqnOptions& o, std::int64_t training_rounds) {
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(training_rounds * o.train_every) * o.updates_per_step + 1e-6));
}

// How many batches to gather in one pass: as many as a round needs, while they stay in the cache.
int group_size(const TrainSpec& spec, int obs) {
  constexpr double kGatherBytes = 1 << 18;
  const double per_round =
      std::ceil(static_cast<double>(spec.dqn.train_every) * spec.dqn.updates_per_step);
  const double bytes = static_cast<double>(spec.dqn.batch) * obs * 2 * sizeof(float);
  return static_cast<int>(std::max(1.0, std::min(per_round, std::floor(kGatherBytes / bytes))));
}

const TrainSpec& feasible(const TrainSpec& spec) {
  check_feasible(spec);
  return spec;
}

}  // namespace

double solved_threshold(const TrainSpec& spec) {
  if (!std::isnan(spec.evaluation.threshold)) return spec.evaluation.threshold;
  return find_env(spec.env).spec->solved_return;
}

ReplayShape replay_shape(const TrainSpec& spec) {
  const EnvEntry& env = find_env(spec.env);
  return {.lanes = spec.envs,
          .obs = env.spec->obs,
          .actions = env.spec->actions,
          .masks = env.make(1)->has_mask(),
          .max_steps = env.spec->max_steps,
          .capacity = spec.dqn.replay_capacity,
          .gamma = spec.dqn.gamma};
}

Structure network_structure(const TrainSpec& spec) {
  const EnvSpec& env = *find_env(spec.env).spec;
  return make_mlp(env.obs, env.actions, spec.net);
}

void check_feasible(const TrainSpec& spec) {
  const ReplayShape shape = replay_shape(spec);
  const double bytes = Replay::bytes_per_transition(shape);
  const double needed = bytes * static_cast<double>(shape.capacity);
  const double memory = static_cast<double>(memory_bytes());
  constexpr double kShare = 0.9;
  if (needed <= kShare * memory) return;
  throw UsageError(
      fmt::format("replay.capacity: {} transitions of {:.1f} bytes need {:.1f} GiB, but this "
                  "machine has {:.1f} GiB of memory; "
                  "at most {} fit",
                  shape.capacity, bytes, needed / 0x1p30, memory / 0x1p30,
                  static_cast<std::int64_t>(kShare * memory / bytes)));
}

std::int64_t declared_updates(const TrainSpec& spec) {
  const DqnOptions& o = spec.dqn;
  const std::int64_t steps = whole_vector_steps(spec.run.steps, spec.envs);
  const std::int64_t rounds = steps / o.train_every - o.learning_starts / o.train_every;
  return owed_updates(o, std::max<std::int64_t>(0, rounds));
}

Trainer::Trainer(const TrainSpec& spec)
    : spec_(feasible(spec)),
      total_steps_(whole_vector_steps(spec.run.steps, spec.envs)),
      team_(spec.run.threads),
      env_(make_env(spec)),
      agent_(network_structure(spec), spec.net.init, spec.dqn, spec.optimiser, spec.run.seed,
             spec.envs),
      group_(group_size(spec, env_.spec().obs)),
      replay_(replay_shape(spec), std::int64_t{group_} * spec.dqn.batch),
      actions_(spec.envs) {
  env_.reset();
  replay_.begin(env_.obs(), env_.mask());
  check_finite(env_.obs(), 0, "observation");
  check_masks();
}

void Trainer::round() {
  clock_.begin_round();
  const DqnOptions& o = spec_.dqn;
  // Rounds end at multiples of train_every, also after a run that ended in between was extended.
  const std::int64_t end = (counters_.env_steps / o.train_every + 1) * o.train_every;
  const std::int64_t until = std::min(total_steps_, end);
  while (counters_.env_steps < until) collect();
  if (until == end && counters_.env_steps > o.learning_starts) {
    ++counters_.training_rounds;
    learn();
  }
}

// One vector step: act, step, push.
void Trainer::collect() {
  clock_.enter_part(Phase::act);
  agent_.act(env_.obs(), env_.mask(), epsilon(), env_.steps(), team_, actions_);

  clock_.enter_part(Phase::step);
  env_.step(actions_, team_);
  check_step();

  clock_.enter_part(Phase::push);
  replay_.push({.actions = actions_,
                .rewards = env_.rewards(),
                .terminated = env_.terminated(),
                .truncated = env_.truncated(),
                .next_obs = env_.obs(),
                .next_mask = env_.mask(),
                .final_obs = env_.final_obs(),
                .final_mask = env_.final_mask()});
  for (const Episode& episode : env_.finished()) window_.returns += episode.total_return;
  window_.episodes += static_cast<std::int64_t>(env_.finished().size());
  counters_.episodes += static_cast<std::int64_t>(env_.finished().size());

  const std::int64_t before = counters_.env_steps;
  counters_.env_steps += spec_.envs;
  const std::int64_t every = spec_.dqn.target_every;
  if (spec_.dqn.target_clock == TargetClock::steps &&
      before / every != counters_.env_steps / every) {
    agent_.update_target();
  }
}

// All updates that are owed, in groups whose batches are drawn and gathered in one pass.
void Trainer::learn() {
  std::int64_t owed = owed_updates(spec_.dqn, counters_.training_rounds) - counters_.updates;
  const double rate = learning_rate();
  while (owed > 0) {
    const int group = static_cast<int>(std::min<std::int64_t>(group_, owed));
    clock_.enter_part(Phase::sample);
    replay_.sample(group, spec_.dqn.batch, spec_.run.seed, counters_.updates);
    clock_.enter_part(Phase::learn);
    for (int i = 0; i < group; ++i) {
      const UpdateReport report = agent_.update(replay_.batch(i), rate, team_);
      ++counters_.updates;
      if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
        throw RunError(fmt::format(
            "non-finite {} ({}) in update {} at env step {}; the parameters before it are intact",
            std::isfinite(report.loss) ? "gradient norm" : "loss",
            std::isfinite(report.loss) ? report.gradient_norm : report.loss, counters_.updates,
            counters_.env_steps));
      }
      window_.loss += report.loss;
      window_.mean_q += report.mean_q;
      window_.gradient_norm += report.gradient_norm;
      ++window_.updates;
      if (spec_.dqn.target_clock == TargetClock::updates &&
          counters_.updates % spec_.dqn.target_every == 0) {
        agent_.update_target();
      }
    }
    owed -= group;
  }
}

// What the environments gave must be usable; the first that is not is named.
void Trainer::check_step() const {
  check_finite(env_.obs(), 0, "observation");
  check_finite(env_.rewards(), 0, "reward");
  check_masks();
  if (env_.finished().empty()) return;
  const int d = env_.spec().obs;
  for (int env = 0; env < spec_.envs; ++env) {
    if ((env_.terminated()[env] | env_.truncated()[env]) == 0) continue;
    check_finite(env_.final_obs().subspan(static_cast<std::size_t>(env) * d, d), env,
                 "final observation");
  }
}

void Trainer::check_finite(std::span<const float> values, int first_env,
                           std::string_view field) const {
  constexpr std::uint32_t kExponent = 0x7f800000;  // all ones in infinities and NaNs, nowhere else
  bool finite = true;
  for (float value : values) {
    finite &= (std::bit_cast<std::uint32_t>(value) & kExponent) != kExponent;
  }
  if (finite) return;
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  const auto index = bad - values.begin();
  const int width = field == "reward" ? 1 : env_.spec().obs;
  const std::string element = width > 1 ? fmt::format("[{}]", index % width) : std::string();
  throw RunError(fmt::format("non-finite {}{} ({}) from env {} at vector step {} (env step {})",
                             field, element, *bad, first_env + index / width, env_.steps(),
                             env_.steps() * spec_.envs));
}

void Trainer::check_masks() const {
  const std::size_t actions = env_.spec().actions;
  for (std::size_t row = 0; row * actions < env_.mask().size(); ++row) {
    const auto mask = env_.mask().subspan(row * actions, actions);
    if (std::any_of(mask.begin(), mask.end(), [](auto allowed) { return allowed != 0; })) continue;
    throw RunError(fmt::format("env {} allows no action at all at vector step {} (env step {})",
                               row, env_.steps(), env_.steps() * spec_.envs));
  }
}

}  // namespace hotloop
