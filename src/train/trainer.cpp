#include "train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <hotloop/error.hpp>

#include "algo/common/rounds.hpp"
#include "memory/staged_steps.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

BatchEnv make_env(const TrainSpec& spec) {
  return {make_worlds(spec.world(), spec.envs), spec.envs, spec.run.seed, Purpose::world};
}

// Vector steps in a round.
std::int64_t round_length(const TrainSpec& spec) {
  return std::min(spec.learn.train_every, whole_vector_steps(spec.run.steps, spec.envs)) /
         spec.envs;
}

bool shares_work(const TrainSpec& spec, const WorldFacts& world) {
  const LearningWork work = spec.algorithm->work(spec, world);
  return spec.envs > 1 || spec.learn.pipelined || work.shares_batches ||
         work.acting.storage >= kMinSharedParameters;
}

}  // namespace

// One thread collects and one learns, possibly with helper threads; or one thread does both.
struct Trainer::Pipeline {
  Pipeline(const TrainSpec& spec, const EnvSpec& env, bool masks)
      : staged(static_cast<int>(round_length(spec)), spec.envs, env.obs, masks ? env.actions : 0,
               env.action_size) {
    counters.reserve(round_length(spec));
  }

  ThreadTeam alone{1};
  StagedSteps staged;              // vector steps of the round
  std::vector<Counters> counters;  // after each vector step
};

Trainer::~Trainer() = default;

Trainer::Trainer(const TrainSpec& spec, const Demonstrations* demonstrations)
    : spec_(spec),
      world_(check_feasible(spec)),
      total_steps_(whole_vector_steps(spec.run.steps, spec.envs)),
      threads_(spec, shares_work(spec, world_)),
      env_(make_env(spec)),
      learner_(spec.algorithm->make_learner(spec, world_, spec.run.seed)),
      actions_(env_.spec(), spec.envs) {
  if (spec.run.episode_log) {  // at most every step of a round ends an episode
    finished_.reserve(static_cast<std::size_t>(std::min(spec.learn.train_every, total_steps_)));
  }
  check_finite(env_.obs(), 0, "observation");
  check_masks(env_.mask(), 0);
  begin(demonstrations);
  if (spec.learn.pipelined) {
    pipeline_ = std::make_unique<Pipeline>(spec_, env_.spec(), !env_.mask().empty());
    learner_->freeze_policy(counters_);
  }
}

void Trainer::begin(const Demonstrations* demonstrations) {
  if (demonstrations == nullptr) return learner_->begin(env_.obs(), env_.mask());
  learner_->begin_after(*demonstrations, env_.obs(), env_.mask());
  for (const double reward : demonstrations->rewards) rewards_.add(reward);
}

void Trainer::restored() {
  check_counters();
  check_finite(env_.obs(), 0, "observation");
  check_masks(env_.mask(), 0);
  learner_->restored(counters_);
}

// Rounds and updates follow from the number of env steps, so a file cannot claim more of them.
void Trainer::check_counters() const {
  const Counters& c = counters_;
  const auto check = [](bool holds, std::string_view what, std::int64_t found,
                        std::string_view allowed, std::int64_t bound) {
    if (holds) return;
    throw RunError(fmt::format("{} is {}; allowed: {} {}", what, found, allowed, bound));
  };
  visit_counters(c, [&](const char* name, std::int64_t value) {
    check(value >= 0 && value <= kMaxCount, name, value, "0 to", kMaxCount);
  });
  check(c.env_steps % spec_.envs == 0, "env_steps", c.env_steps, "multiples of env.count,",
        spec_.envs);
  const auto env_steps = static_cast<std::int64_t>(env_.steps()) * spec_.envs;
  check(c.env_steps == env_steps, "env_steps", c.env_steps, "that of the environments,", env_steps);
  check(c.episodes <= c.env_steps, "episodes", c.episodes, "at most env_steps,", c.env_steps);
  check(c.episodes == episodes_.count(), "episodes", c.episodes, "the number of their statistics,",
        episodes_.count());
  const std::int64_t rounds = rounds_ended(spec_.learn, c.env_steps);
  check(c.train_events <= rounds, "train_events", c.train_events, "at most the rounds,", rounds);
  const std::int64_t due = updates_due(spec_.learn, c.train_events);
  check(c.updates <= due, "updates", c.updates, "at most those due,", due);
}

void Trainer::round() {
  // Rounds that the clock splits into phases do not overlap. Split the first few, so that there are
  // times to show, then as few as possible.
  constexpr std::int64_t kFirst = 16;
  constexpr std::uint64_t kRarely = 63;
  const bool overlaps = pipeline_ != nullptr && team().size() > 1;
  const std::int64_t updates = counters_.updates;
  threads_.begin_round();
  clock_.begin_round(overlaps && counters_.train_events > kFirst ? kRarely : 0);
  finished_.clear();
  // If a run that ended within a round is extended, that round still ends where it would have.
  const std::int64_t end = round_end(spec_.learn, counters_.env_steps);
  const std::int64_t until = std::min(total_steps_, end);
  if (pipeline_ != nullptr) collect_while_learning(until);
  while (counters_.env_steps < until) {
    collect(team());
    mark(Phase::memory_push);
    learner_->push(latest_transitions(env_, actions_), counters_);
  }
  if (until == end && counters_.env_steps > spec_.learn.learning_starts) {
    ++counters_.train_events;
    if (pipeline_ == nullptr) learner_->learn({counters_, window_, team()});
  }
  clock_.end_round();
  threads_.end_round(counters_.updates > updates);
}

// Makes the updates of the last round and collects the steps of this one; neither sees the other's
// results.
void Trainer::collect_while_learning(std::int64_t until) {
  Pipeline& p = *pipeline_;
  p.staged.clear();
  p.counters.clear();
  // A run that ended within a round and was extended continues with the frozen policy.
  if (is_round_begin(spec_.learn, counters_.env_steps, spec_.envs))
    learner_->freeze_policy(counters_);
  alignas(kCacheLine) Counters learnt = counters_;  // written by another core
  Crew& crew = threads_.crew();
  ThreadTeam& team = PhaseClock::splitting() == &clock_ ? p.alone : crew.pair;
  team.run(2, [&](int first, int last, int) {
    if (last == 2) learner_->learn({learnt, window_, crew.learners});
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
  for (const double reward : env_.rewards()) rewards_.add(reward);
  for (const Episode& episode : env_.finished()) {
    window_.returns += episode.total_return;
    episodes_.add(episode);
    if (spec_.run.episode_log) finished_.push_back({counters_.env_steps, episode});
  }
  window_.episodes += static_cast<std::int64_t>(env_.finished().size());
}

// Throws if an observation, reward or mask of the environments is invalid; names the first one.
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
  constexpr std::uint32_t kExponent = 0x7f800000;  // all ones only in infinities and NaNs
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
    throw RunError(
        fmt::format("the mask of env {} allows no action at vector step {} (env step {})",
                    first_env + row, env_.steps(), env_.steps() * spec_.envs));
  }
}

}  // namespace hotloop
