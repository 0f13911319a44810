#include "algo/dqn/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "algo/common/rounds.hpp"

namespace hotloop {
namespace {

// Transitions in one draw: all batches of one update.
std::int64_t draw_size(const LearningOptions& o) { return std::int64_t{o.batch} * o.accumulate; }

// The number of draws to gather in one pass: as many as a round needs, as long as they fit into the
// cache. With priorities only one, because each update changes the next draw.
int group_size(const AgentSpec& spec, const WorldFacts& world) {
  const auto& o = options_of<DqnOptions>(spec);
  if (o.replay.prioritised) return 1;
  constexpr double kGatherBytes = 1 << 18;
  const double per_round = std::ceil(static_cast<double>(spec.learn.train_every) *
                                     spec.learn.updates_per_step / o.repeats);
  const double bytes =
      static_cast<double>(draw_size(spec.learn)) * world.spec.obs * 2 * sizeof(float);
  return static_cast<int>(std::max(1.0, std::min(per_round, std::floor(kGatherBytes / bytes))));
}

// `size` transitions of a draw, starting at `first`.
Batch part(Batch batch, const ReplayShape& shape, int first, int size) {
  batch.size = size;
  batch.obs += static_cast<std::size_t>(first) * shape.obs;
  batch.next_obs += static_cast<std::size_t>(first) * shape.obs;
  batch.actions += first;
  batch.rewards += first;
  batch.discounts += first;
  if (batch.weights != nullptr) batch.weights += first;
  if (batch.mask != nullptr) batch.mask += static_cast<std::size_t>(first) * shape.actions;
  if (batch.next_mask != nullptr)
    batch.next_mask += static_cast<std::size_t>(first) * shape.actions;
  return batch;
}

}  // namespace

ReplayShape dqn_replay_shape(const AgentSpec& spec, const WorldFacts& world) {
  const auto& o = options_of<DqnOptions>(spec);
  return replay_shape(o.replay, o.n_step, o.truncation_ends, spec, world);
}

DqnLearner::DqnLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
    : LearnerBase(spec, world, seed),
      options_(options_of<DqnOptions>(spec)),
      dqn_(spec.algorithm->network(spec, world), spec, seed, scale()),
      group_(group_size(spec, world)),
      replay_(dqn_replay_shape(spec, world), group_ * draw_size(spec.learn)),
      batches_(spec.learn.accumulate),
      ended_(spec.envs),
      never_(spec.envs),
      lag_(std::nan("")) {}

void DqnLearner::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  observe(obs);
  replay_.begin(obs, mask);
}

void DqnLearner::begin_after(const Demonstrations& demonstrations, std::span<const float> obs,
                             std::span<const std::uint8_t> mask) {
  DemonstrationStreams streams(demonstrations, spec_.envs, options_.truncation_ends, obs, mask);
  replay_.expect_demonstrations(streams.steps(), streams.truncation_gap());
  begin(streams.first_obs(), streams.first_mask());
  while (!streams.done()) store(streams.next());
}

void DqnLearner::store(const Transitions& step) {
  observe(step);
  replay_.push(step);
}

void DqnLearner::act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                     std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                     Actions& actions) {
  Counters seen = counters;
  if (frozen_updates_ >= 0) seen.updates = frozen_updates_;
  acting().act(obs, mask, exploration_at(options_.explore, seen.progress()), vector_step, team,
               actions.discrete);
}

void DqnLearner::freeze_policy(const Counters& counters) {
  mark(Phase::learn_sync);
  acting().freeze();
  frozen_updates_ = counters.updates;
}

void DqnLearner::push(const Transitions& step, Counters& counters) {
  Transitions kept = step;
  if (options_.truncation_ends) {
    for (int env = 0; env < spec_.envs; ++env) {
      ended_[env] = step.terminated[env] | step.truncated[env];
    }
    kept.terminated = ended_;
    kept.truncated = never_;
  }
  store(kept);
  const Count count = options_.target.count;
  if (count == Count::steps) {
    sync_if_due(counters.env_steps - spec_.envs, counters.env_steps, counters);
  } else if (count == Count::episodes) {
    std::int64_t ended = 0;
    for (int env = 0; env < spec_.envs; ++env) ended += step.terminated[env] | step.truncated[env];
    sync_if_due(counters.episodes - ended, counters.episodes, counters);
  }
}

// Makes all updates that are due, in groups whose draws are gathered in one pass. Updates are still
// made one by one, in order: grouping only makes gathering faster.
void DqnLearner::learn(Training training) {
  Counters& c = training.counters;
  const int repeats = options_.repeats;
  dqn_.set_reward_factor(reward_factor());
  std::int64_t due = updates_due(spec_.learn, c.train_events) - c.updates;
  while (due >= repeats) {
    const int draws = static_cast<int>(std::min<std::int64_t>(group_, due / repeats));
    mark(Phase::memory_draw);
    replay_.sample(draws, static_cast<int>(draw_size(spec_.learn)), seed_, c.batches,
                   options_.replay.beta.at(c.progress()));
    due -= std::int64_t{draws} * repeats;
    for (int draw = 0; draw < draws; ++draw) update(draw, training);
  }
}

// Makes the updates on one draw, then sets its new priorities.
void DqnLearner::update(int draw, Training& training) {
  Counters& c = training.counters;
  const int batch = spec_.learn.batch;
  for (int i = 0; i < spec_.learn.accumulate; ++i) {
    batches_[i] = part(replay_.batch(draw), replay_.shape(), i * batch, batch);
  }
  std::int64_t last_syncs = -1;
  for (int repeat = 0; repeat < options_.repeats; ++repeat) {
    const bool same_targets = c.target_updates == last_syncs;
    last_syncs = c.target_updates;
    const QReport report =
        dqn_.update(batches_, learning_rate(c), static_cast<std::uint64_t>(c.updates),
                    training.team, {.same_targets = same_targets});
    record(report, kQColumns, training);
    if (options_.target.count == Count::updates) sync_if_due(c.updates - 1, c.updates, c);
  }
  ++c.batches;
  if (!options_.replay.prioritised) return;
  mark(Phase::memory_draw);
  replay_.set_priorities(0, dqn_.errors());
}

// Syncs the target network once for every multiple of its period in (before, now]. Repeated hard
// copies are made once.
void DqnLearner::sync_if_due(std::int64_t before, std::int64_t now, Counters& counters) {
  const std::int64_t every = options_.target.every;
  if (every == 0 || before / every == now / every) return;
  mark(Phase::learn_sync);
  if (std::isnan(lag_)) lag_ = target_lag();
  const std::int64_t times = options_.target.tau == 1 ? 1 : now / every - before / every;
  dqn_.sync_target(times);
  counters.target_updates += times;
}

void DqnLearner::settings(const Counters& counters, const NumberVisitor& visitor) const {
  const Exploration now = exploration_at(options_.explore, counters.progress());
  visit_exploration(now, visitor);
  if (options_.replay.prioritised) visitor("beta", options_.replay.beta.at(counters.progress()));
  visitor("learning_rate", learning_rate(counters));
}

Signs DqnLearner::signs(const Counters& counters) {
  Signs signs;
  // Uses the complement of the seed, so the random streams of training are not affected.
  const int rows =
      static_cast<int>(std::min<std::int64_t>(draw_size(spec_.learn), QNetwork::kProbeRows));
  replay_.sample(1, rows, ~seed_, static_cast<std::uint64_t>(counters.env_steps));
  const Probe probe = acting().probe(replay_.batch(0).obs, rows, replay_.batch(0).mask);
  signs.largest_value = probe.largest_q;
  signs.action_gap = probe.action_gap;
  signs.best_value = probe.best_q;
  if (options_.head.kind == HeadKind::c51) {
    signs.value_min = options_.head.v_min;
    signs.value_max = options_.head.v_max;
  }
  signs.terminal_share =
      static_cast<double>(replay_.terminals()) / static_cast<double>(replay_.size());
  signs.target_lag = std::isnan(lag_) ? target_lag() : lag_;
  lag_ = std::nan("");
  return signs;
}

// |online - target| / |online|
double DqnLearner::target_lag() {
  if (!dqn_.has_target()) return std::nan("");
  double gaps = 0, size = 0;
  const std::span<const float> online = dqn_.online();
  for (std::size_t i = 0; i < online.size(); ++i) {
    const double gap = online[i] - dqn_.target()[i];
    gaps += gap * gap;
    size += static_cast<double>(online[i]) * online[i];
  }
  return std::sqrt(gaps / size);
}

void DqnLearner::visit(const ArrayVisitor& visitor) {
  visit_shared(visitor);
  if (dqn_.has_target()) visitor("target", dqn_.target(), Limits::finite());
  visitor("target_lag", std::span<double>(&lag_, 1), Limits::any());  // NaN = none; only reported
  if (frozen_updates_ >= 0) {
    visitor("frozen", acting().frozen(), Limits::finite());
    visitor("frozen_updates", std::span<std::int64_t>(&frozen_updates_, 1), Limits::count());
  }
  replay_.visit([&](const std::string& name, auto array, const Limits& limits) {
    visitor("replay." + name, array, limits);
  });
}

// `learn` makes the difference between the updates that are due and those made. A wrong count would
// make it run for years.
void DqnLearner::restored(const Counters& c) {
  LearnerBase::restored(c);
  replay_.restored(c.env_steps);
  const std::int64_t repeats = options_.repeats;
  const std::int64_t learnt = std::max<std::int64_t>(0, c.train_events - spec_.learn.pipelined);
  if (c.updates + repeats <= updates_due(spec_.learn, learnt) || c.updates != c.batches * repeats) {
    throw RunError(
        fmt::format("{} updates on {} batches do not fit {} rounds of learning: {} updates are due",
                    c.updates, c.batches, c.train_events, updates_due(spec_.learn, learnt)));
  }
}

}  // namespace hotloop
