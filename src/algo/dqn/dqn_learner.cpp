#include "algo/dqn/dqn_learner.hpp"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

// Transitions of one draw: the batches whose mean gradient makes one update.
std::int64_t draw_size(const QOptions& q) { return std::int64_t{q.batch} * q.accumulate; }

// How many draws to gather in one pass: as many as a round needs, while they stay in the cache. With
// priorities only one, because each update changes the next draw.
int group_size(const TrainSpec& spec) {
  if (spec.q.prioritised) return 1;
  constexpr double kGatherBytes = 1 << 18;
  const double per_round =
      std::ceil(static_cast<double>(spec.q.train_every) * spec.q.updates_per_step / spec.q.repeats);
  const double bytes =
      static_cast<double>(draw_size(spec.q)) * replay_shape(spec).obs * 2 * sizeof(float);
  return static_cast<int>(std::max(1.0, std::min(per_round, std::floor(kGatherBytes / bytes))));
}

// `size` transitions of a draw, from `first` on.
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

ReplayLearner::ReplayLearner(const TrainSpec& spec)
    : LearnerBase(spec),
      dqn_(network_structure(spec), spec.net.init, spec.q, spec.optimiser, spec.run.seed, spec.envs,
           scale()),
      group_(group_size(spec)),
      replay_(replay_shape(spec), group_ * draw_size(spec.q)),
      batches_(spec.q.accumulate),
      ended_(spec.envs),
      never_(spec.envs),
      lag_(std::nan("")) {}

void ReplayLearner::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  observe(obs);
  replay_.begin(obs, mask);
}

void ReplayLearner::act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                        std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                        Actions& actions) {
  Counters seen = counters;
  if (held_updates_ >= 0) seen.updates = held_updates_;
  network().act(obs, mask, exploration(seen), vector_step, team, actions.numbers);
}

void ReplayLearner::hold_policy(const Counters& counters) {
  mark(Phase::learn_sync);
  network().hold();
  held_updates_ = counters.updates;
}

void ReplayLearner::push(const Transitions& step, Counters& counters) {
  observe(step);
  Transitions kept = step;
  if (spec_.q.truncation_ends) {
    for (int env = 0; env < spec_.envs; ++env) {
      ended_[env] = step.terminated[env] | step.truncated[env];
    }
    kept.terminated = ended_;
    kept.truncated = never_;
  }
  replay_.push(kept);
  const Count count = spec_.q.target_count;
  if (count == Count::steps) {
    follow(counters.env_steps - spec_.envs, counters.env_steps, counters);
  } else if (count == Count::episodes) {
    std::int64_t ended = 0;
    for (int env = 0; env < spec_.envs; ++env) ended += step.terminated[env] | step.truncated[env];
    follow(counters.episodes - ended, counters.episodes, counters);
  }
}

// All updates that are owed, in groups whose draws are gathered in one pass. Every update is made
// by itself, in order: grouping changes nothing but the time of gathering.
void ReplayLearner::learn(Training training) {
  Counters& c = training.counters;
  const QOptions& q = spec_.q;
  dqn_.set_reward_factor(reward_factor());
  std::int64_t owed = owed_updates(q, c.train_events) - c.updates;
  while (owed >= q.repeats) {
    const int draws = static_cast<int>(std::min<std::int64_t>(group_, owed / q.repeats));
    mark(Phase::memory_draw);
    replay_.sample(draws, static_cast<int>(draw_size(q)), spec_.run.seed, c.batches,
                   q.beta.at(c.progress()));
    owed -= std::int64_t{draws} * q.repeats;
    for (int draw = 0; draw < draws; ++draw) update(draw, training);
  }
}

// The updates on one draw, then its new priorities.
void ReplayLearner::update(int draw, Training& training) {
  Counters& c = training.counters;
  const QOptions& q = spec_.q;
  for (int i = 0; i < q.accumulate; ++i) {
    batches_[i] = part(replay_.batch(draw), replay_.shape(), i * q.batch, q.batch);
  }
  std::int64_t target_then = -1;
  for (int repeat = 0; repeat < q.repeats; ++repeat) {
    const bool again = c.target_updates == target_then;
    target_then = c.target_updates;
    const UpdateReport report =
        dqn_.update(batches_, learning_rate(c), static_cast<std::uint64_t>(c.updates),
                    training.team, {.again = again});
    record(report, training);
    if (q.target_count == Count::updates) follow(c.updates - 1, c.updates, c);
  }
  ++c.batches;
  if (!q.prioritised) return;
  mark(Phase::memory_draw);
  replay_.set_priorities(0, dqn_.errors());
}

// Lets the target network follow, as often as a multiple of its period lies in (before, now]; copies of
// the same are made once.
void ReplayLearner::follow(std::int64_t before, std::int64_t now, Counters& counters) {
  const std::int64_t every = spec_.q.target_every;
  if (every == 0 || before / every == now / every) return;
  mark(Phase::learn_sync);
  if (std::isnan(lag_)) lag_ = target_lag();
  const std::int64_t times = spec_.q.target_blend == 1 ? 1 : now / every - before / every;
  dqn_.update_target(times);
  counters.target_updates += times;
}

Signs ReplayLearner::signs(const Counters& counters) {
  Signs signs;
  // Draws of the complement of the seed: training's own are left alone.
  const int rows =
      static_cast<int>(std::min<std::int64_t>(draw_size(spec_.q), QNetwork::kProbeRows));
  replay_.sample(1, rows, ~spec_.run.seed, static_cast<std::uint64_t>(counters.env_steps));
  signs.probe = network().probe(replay_.batch(0).obs, rows, replay_.batch(0).mask);
  signs.terminal_share =
      static_cast<double>(replay_.terminals()) / static_cast<double>(replay_.size());
  signs.target_lag = std::isnan(lag_) ? target_lag() : lag_;
  lag_ = std::nan("");
  return signs;
}

// |online - target| / |online|
double ReplayLearner::target_lag() {
  if (!dqn_.has_target()) return std::nan("");
  double apart = 0, size = 0;
  const std::span<const float> online = dqn_.online();
  for (std::size_t i = 0; i < online.size(); ++i) {
    const double gap = online[i] - dqn_.target()[i];
    apart += gap * gap;
    size += static_cast<double>(online[i]) * online[i];
  }
  return std::sqrt(apart / size);
}

void ReplayLearner::visit(const ArrayVisitor& visitor) {
  visit_shared(network(), visitor);
  if (dqn_.has_target()) visitor("target", dqn_.target());
  visitor("target_lag", std::span<double>(&lag_, 1));
  if (held_updates_ >= 0) {
    visitor("held", network().held());
    visitor("held_updates", std::span<std::int64_t>(&held_updates_, 1));
  }
  replay_.visit([&](const std::string& name, auto array) { visitor("replay." + name, array); });
}

}  // namespace hotloop
