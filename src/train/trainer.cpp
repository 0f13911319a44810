#include "train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <hotloop/error.hpp>

#include "algo/dqn/dqn.hpp"
#include "core/system.hpp"
#include "memory/staged_steps.hpp"

namespace hotloop {
namespace {

BatchEnv make_env(const TrainSpec& spec) {
  return {make_worlds(spec.world(), spec.envs), spec.envs, spec.run.seed, Purpose::world};
}

std::int64_t whole_vector_steps(std::int64_t steps, int envs) {
  return (steps + envs - 1) / envs * envs;
}

// Rounds end at offset, offset + every, offset + 2 every, ...; this many of them by now.
std::int64_t rounds_ended(const QOptions& q, std::int64_t env_steps) {
  const std::int64_t shifted = env_steps - q.train_offset;
  return shifted < 0 ? 0 : shifted / q.train_every + (q.train_offset > 0 ? 1 : 0);
}

bool is_round_begin(const QOptions& q, std::int64_t env_steps, int envs) {
  return env_steps == 0 || rounds_ended(q, env_steps) > rounds_ended(q, env_steps - envs);
}

// Vector steps in a round.
std::int64_t round_length(const TrainSpec& spec) {
  return std::min(spec.q.train_every, whole_vector_steps(spec.run.steps, spec.envs)) / spec.envs;
}

const TrainSpec& feasible(const TrainSpec& spec) {
  check_feasible(spec);
  return spec;
}

}  // namespace

double solved_threshold(const EvaluationOptions& options, const EnvSpec& env) {
  return std::isnan(options.threshold) ? env.solved_return : options.threshold;
}

double solved_threshold(const TrainSpec& spec) {
  return solved_threshold(spec.evaluation, env_spec(spec.world()));
}

namespace {

void check_reward_parts(const TrainSpec& spec, const EnvSpec& env) {
  const auto given = static_cast<int>(spec.ppo.part_weights.size());
  if (given == 0 || given == env.reward_part_count()) return;
  std::string names;
  for (int i = 0; i < env.reward_part_count(); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", env.reward_parts[i]);
  throw UsageError(
      fmt::format("algo.part_weights: {} weights, but the rewards of {} have {} parts{}{}; give "
                  "one for each, or "
                  "none",
                  given, spec.env, env.reward_part_count(), names.empty() ? "" : ": ", names));
}

// What says how to act in a box means nothing where actions are numbered.
void check_box_keys(const TrainSpec& spec, const EnvSpec& env) {
  if (env.actions == 0) return;
  const PpoOptions standard;
  const auto refuse = [&](bool given, std::string_view key) {
    if (given) {
      throw UsageError(fmt::format(
          "{}: is for actions in a box; those of {} are numbered. Leave it out", key, spec.env));
    }
  };
  refuse(spec.ppo.squash != standard.squash, "algo.squash");
  refuse(spec.ppo.deviation != standard.deviation, "algo.deviation");
  refuse(spec.ppo.log_deviation != standard.log_deviation, "algo.log_deviation");
}

}  // namespace

void check_feasible(const TrainSpec& spec) {
  const EnvSpec env = env_spec(spec.world());
  if (env.actions == 0 && spec.algorithm != Algorithm::ppo) {
    throw UsageError(fmt::format(
        "env.name: {} takes actions from a box of {} number{}; {} chooses among discrete ones",
        spec.env, env.action_size, env.action_size == 1 ? "" : "s",
        kAlgorithmNames[static_cast<std::size_t>(spec.algorithm)]));
  }
  check_reward_parts(spec, env);
  check_box_keys(spec, env);
  if (spec.evaluation.stop_when_solved && std::isnan(solved_threshold(spec.evaluation, env))) {
    throw UsageError(
        fmt::format("evaluation.stop_when_solved: needs evaluation.threshold; {} does not say when "
                    "it is solved",
                    spec.env));
  }
  const double available = static_cast<double>(memory_bytes());
  const MemoryNeed need = memory_need(spec);  // throws if the network does not fit the environment
  if (need.experience + need.network <= kMostOfMemory * available) return;
  if (spec.algorithm == Algorithm::dqn && need.network > need.experience) {
    throw UsageError(fmt::format(
        "net.hidden: the network, with its gradients and optimiser in batches of {} (algo.batch), "
        "needs {:.1f} GiB, but this process can have {:.1f} GiB of memory",
        spec.q.batch, need.network / 0x1p30, available / 0x1p30));
  }
  if (spec.algorithm != Algorithm::dqn) {
    throw UsageError(fmt::format(
        "{}: {} vector steps of {} environments need {:.1f} GiB, and the network in batches of {} "
        "{:.1f} GiB, but this process can have {:.1f} GiB of memory",
        need.experience > need.network ? "algo.rollout" : "algo.batch", spec.q.rollout, spec.envs,
        need.experience / 0x1p30, spec.q.batch, need.network / 0x1p30, available / 0x1p30));
  }
  const ReplayShape shape = replay_shape(spec);
  const double bytes = Replay::bytes_per_transition(shape);
  throw UsageError(fmt::format(
      "replay.capacity: {} transitions of {:.1f} bytes need {:.1f} GiB, but this "
      "process can have {:.1f} GiB of memory; "
      "at most {} fit",
      shape.capacity, bytes, need.experience / 0x1p30, available / 0x1p30,
      static_cast<std::int64_t>(std::max(0.0, kMostOfMemory * available - need.network) / bytes)));
}

MemoryNeed memory_need(const TrainSpec& spec) {
  const Structure structure = network_structure(spec);
  if (spec.algorithm == Algorithm::dqn) {
    const ReplayShape shape = replay_shape(spec);
    const double staged = spec.q.pipelined ? StagedSteps::bytes_per_transition(
                                                 shape.obs, shape.masks ? shape.actions : 0, shape.action_size)
                                           : 0;
    return {
        .experience = Replay::bytes_per_transition(shape) * static_cast<double>(shape.capacity) +
                      staged * static_cast<double>(round_length(spec) * spec.envs),
        .network = static_cast<double>(Dqn::bytes_needed(structure, spec.q))};
  }
  return {.experience = static_cast<double>(Rollout::bytes_needed(rollout_shape(spec))),
          .network =
              static_cast<double>(Workspace::bytes_needed(structure, spec.envs, Use::training) +
                                  Workspace::bytes_needed(structure, spec.q.batch, Use::training))};
}

std::int64_t declared_updates(const TrainSpec& spec, std::int64_t env_steps) {
  const QOptions& q = spec.q;
  std::int64_t steps = whole_vector_steps(env_steps, spec.envs);
  if (q.pipelined) steps = std::max<std::int64_t>(0, steps - spec.envs);  // a round later
  const std::int64_t rounds = rounds_ended(q, steps) - rounds_ended(q, q.learning_starts);
  return owed_updates(q, std::max<std::int64_t>(0, rounds));
}

// Two threads, one that collects and one that learns, perhaps with more to help it; or one for all.
struct Trainer::Pipeline {
  Pipeline(const TrainSpec& spec, const EnvSpec& env, bool masks)
      : pair(std::min(2, spec.run.threads)),
        learners(std::max(1, spec.run.threads - 1)),
        staged(static_cast<int>(round_length(spec)), spec.envs, env.obs, masks ? env.actions : 0,
               env.action_size) {
    counters.reserve(round_length(spec));
  }

  ThreadTeam pair, learners, alone{1};
  StagedSteps staged;              // the vector steps of a round
  std::vector<Counters> counters;  // after each of them
};

Trainer::~Trainer() = default;

Trainer::Trainer(const TrainSpec& spec)
    : spec_(feasible(spec)),
      total_steps_(whole_vector_steps(spec.run.steps, spec.envs)),
      team_(spec.run.threads),
      env_(make_env(spec)),
      learner_(make_learner(spec)),
      actions_(env_.spec(), spec.envs) {
  if (spec.run.episode_log) {  // at the very most, every step of a round ends an episode
    finished_.reserve(static_cast<std::size_t>(std::min(spec.q.train_every, total_steps_)));
  }
  check_finite(env_.obs(), 0, "observation");
  check_masks(env_.mask(), 0);
  learner_->begin(env_.obs(), env_.mask());
  if (spec.q.pipelined) {
    pipeline_ = std::make_unique<Pipeline>(spec_, env_.spec(), !env_.mask().empty());
    learner_->hold_policy(counters_);
  }
}

void Trainer::round() {
  // Rounds that are split are not overlapped: a few at first, so that there is something to show, then
  // as few as can be.
  constexpr std::int64_t kFirst = 16;
  constexpr std::uint64_t kSeldom = 63;
  const bool overlaps = pipeline_ != nullptr && team_.size() > 1;
  clock_.begin_round(overlaps && counters_.train_events > kFirst ? kSeldom : 0);
  finished_.clear();
  const QOptions& q = spec_.q;
  // Rounds end where they would have, also after a run that ended in between was extended.
  const std::int64_t ended = rounds_ended(q, counters_.env_steps);
  const std::int64_t end =
      q.train_offset > 0 ? q.train_offset + ended * q.train_every : (ended + 1) * q.train_every;
  const std::int64_t until = std::min(total_steps_, end);
  if (pipeline_ != nullptr) collect_while_learning(until);
  while (counters_.env_steps < until) {
    collect(team_);
    mark(Phase::memory_push);
    learner_->push(latest_transitions(env_, actions_), counters_);
  }
  if (until == end && counters_.env_steps > q.learning_starts) {
    ++counters_.train_events;
    if (pipeline_ == nullptr) learner_->learn({counters_, window_, team_});
  }
  clock_.end_round();
}

// The updates that the last round is owed, and this round's steps, neither of which sees anything of the
// other.
void Trainer::collect_while_learning(std::int64_t until) {
  Pipeline& p = *pipeline_;
  p.staged.clear();
  p.counters.clear();
  // Not in the middle of one, where a run ended that is now extended.
  if (is_round_begin(spec_.q, counters_.env_steps, spec_.envs)) learner_->hold_policy(counters_);
  alignas(kCacheLine) Counters learnt = counters_;  // another core's
  ThreadTeam& team = PhaseClock::splitting() == &clock_ ? p.alone : p.pair;
  team.run(2, [&](int first, int last, int) {
    if (last == 2) learner_->learn({learnt, window_, p.learners});
    while (first == 0 && counters_.env_steps < until) {
      collect(p.alone);
      mark(Phase::memory_push);
      p.staged.add(latest_transitions(env_, actions_));
      p.counters.push_back(counters_);
    }
  });
  mark(Phase::memory_push);
  for (int i = 0; i < p.staged.size(); ++i) {
    learnt.env_steps = p.counters[i].env_steps;
    learnt.episodes = p.counters[i].episodes;
    learner_->push(p.staged[i], learnt);
  }
  counters_ = learnt;
}

// One vector step: act, step.
void Trainer::collect(ThreadTeam& team) {
  mark(Phase::act_choose);
  learner_->act(env_.obs(), env_.mask(), env_.steps(), counters_, team, actions_);

  mark(Phase::env_step);
  env_.step(actions_, team);
  mark(Phase::env_check);
  check_step();

  counters_.env_steps += spec_.envs;
  counters_.episodes += static_cast<std::int64_t>(env_.finished().size());
  for (const double reward : env_.rewards()) {
    rewards_.least = std::min(rewards_.least, reward);
    rewards_.most = std::max(rewards_.most, reward);
  }
  for (const Episode& episode : env_.finished()) {
    window_.returns += episode.total_return;
    episodes_.add(episode);
    if (spec_.run.episode_log) finished_.push_back({counters_.env_steps, episode});
  }
  window_.episodes += static_cast<std::int64_t>(env_.finished().size());
}

// What the environments gave must be usable; the first that is not is named.
void Trainer::check_step() const {
  check_finite(env_.obs(), 0, "observation");
  check_finite(env_.rewards(), 0, "reward");
  check_masks(env_.mask(), 0);
  if (env_.finished().empty()) return;
  const int d = env_.spec().obs;
  for (int env = 0; env < spec_.envs; ++env) {
    if ((env_.terminated()[env] | env_.truncated()[env]) == 0) continue;
    check_finite(env_.final_obs().subspan(static_cast<std::size_t>(env) * d, d), env,
                 "final observation");
    if (env_.truncated()[env] == 0 || env_.final_mask().empty()) continue;
    const int a = env_.spec().actions;
    check_masks(env_.final_mask().subspan(static_cast<std::size_t>(env) * a, a), env);
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

void Trainer::check_masks(std::span<const std::uint8_t> masks, int first_env) const {
  const std::size_t actions = env_.spec().actions;
  for (std::size_t row = 0; row * actions < masks.size(); ++row) {
    const auto mask = masks.subspan(row * actions, actions);
    if (std::any_of(mask.begin(), mask.end(), [](auto allowed) { return allowed != 0; })) continue;
    throw RunError(fmt::format("env {} allows no action at all at vector step {} (env step {})",
                               first_env + row, env_.steps(), env_.steps() * spec_.envs));
  }
}

}  // namespace hotloop
