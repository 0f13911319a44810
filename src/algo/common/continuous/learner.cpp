#include "algo/common/continuous/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "algo/common/rounds.hpp"
#include "core/cpu/flush_denormals.hpp"

namespace hotloop {
namespace {

constexpr int kProbeRows = EpisodeProbe::kRows;

// As in DQN: as many draws as a round needs, as long as they fit into the cache.
int group_size(const ContinuousOptions& o, const AgentSpec& spec, const WorldFacts& world) {
  if (o.replay.prioritised) return 1;
  constexpr double kGatherBytes = 1 << 18;
  const double per_round =
      std::ceil(static_cast<double>(spec.learn.train_every) * spec.learn.updates_per_step);
  const double floats = 2.0 * world.spec.obs + world.spec.action_size;
  const double bytes = spec.learn.batch * floats * sizeof(float);
  return static_cast<int>(std::max(1.0, std::min(per_round, std::floor(kGatherBytes / bytes))));
}

}  // namespace

ReplayShape continuous_replay_shape(const ContinuousOptions& options, const AgentSpec& spec,
                                    const WorldFacts& world) {
  return replay_shape(options.replay, options.n_step, false, spec, world);
}

ContinuousLearner::ContinuousLearner(const AgentSpec& spec, const WorldFacts& world,
                                     std::uint64_t seed, const ContinuousOptions& options,
                                     const Structure& actor)
    : LearnerBase(spec, world, seed),
      range_(world.spec),
      options_(options),
      group_(group_size(options, spec, world)),
      replay_(continuous_replay_shape(options, spec, world),
              std::max(std::int64_t{group_} * spec.learn.batch, std::int64_t{kProbeRows})),
      acting_(actor, spec.envs, Use::inference),
      pushed_(arena_.take<float>(static_cast<std::size_t>(spec.envs) * world.spec.action_size)),
      episodes_(spec.envs, world.spec.obs, world.spec.action_size),
      probe_(arena_, critic_structure(spec, options.critics, world), options.critics,
             world.spec.action_size, kProbeRows, 1) {}

void ContinuousLearner::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  observe(obs);
  replay_.begin(obs, mask);
  episodes_.begin(obs);
}

void ContinuousLearner::begin_after(const Demonstrations& demonstrations,
                                    std::span<const float> obs,
                                    std::span<const std::uint8_t> mask) {
  DemonstrationStreams streams(demonstrations, spec_.envs, false, obs, mask);
  replay_.expect_demonstrations(streams.steps(), streams.truncation_gap());
  begin(streams.first_obs(), streams.first_mask());
  while (!streams.done()) store(streams.next());
  episodes_.begin(obs);
}

void ContinuousLearner::act(std::span<const float> obs, std::span<const std::uint8_t>,
                            std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                            Actions& actions) {
  team.run(block_count(spec_.envs), [&](int first, int last, int) {
    const FlushDenormals flush;
    for (int block = first; block < last; ++block)
      act_block(block, obs, vector_step, counters.progress(), actions);
  });
}

void ContinuousLearner::act_block(int block, std::span<const float> obs, std::uint64_t vector_step,
                                  const Progress& progress, Actions& actions) {
  const bool random = progress.env_steps < options_.random_steps;
  if (!random) {
    mark(Phase::act_forward);
    forward(actor().plan(), frozen_.empty() ? actor().online() : frozen_, obs.data(), spec_.envs,
            block, block + 1, acting_, scale());
  }
  mark(Phase::act_choose);
  const int begin = block * kLanes, rows = std::min(spec_.envs - begin, kLanes);
  std::array<float, kMaxActionSize> a;
  for (int row = 0; row < rows; ++row) {
    const int env = begin + row;
    if (random) {
      Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(env),
              vector_step / options_.explore_steps);
      for (int i = 0; i < range_.size; ++i) a[i] = static_cast<float>(rng.uniform(-1, 1));
    } else {
      explore(acting_.outputs(block) + row, env, vector_step, progress, a.data());
    }
    for (int i = 0; i < range_.size; ++i) {
      if (std::isfinite(a[i])) continue;
      throw RunError(
          fmt::format("non-finite action[{}] ({}) from network actor for env {} at vector step {} "
                      "(env step {})",
                      i, a[i], env, vector_step, progress.env_steps));
    }
    range_.to_env(a.data(), 1, &actions.continuous[static_cast<std::size_t>(env) * range_.size]);
  }
}

void ContinuousLearner::freeze_policy(const Counters&) {
  mark(Phase::learn_sync);
  if (frozen_.empty()) frozen_ = arena_.take<float>(actor().online().size());
  std::copy(actor().online().begin(), actor().online().end(), frozen_.begin());
}

void ContinuousLearner::push(const Transitions& step, Counters&) {
  episodes_.add(store(step), static_cast<double>(reward_factor()), bonus(), options_.n_step,
                spec_.learn.gamma);
}

Transitions ContinuousLearner::store(const Transitions& step) {
  observe(step);
  range_.from_env(step.continuous_actions, pushed_);
  Transitions stored = step;
  stored.continuous_actions = pushed_;
  replay_.push(stored);
  return stored;
}

void ContinuousLearner::learn(Training training) {
  Counters& c = training.counters;
  std::int64_t due = updates_due(spec_.learn, c.train_events) - c.updates;
  while (due > 0) {
    const int draws = static_cast<int>(std::min<std::int64_t>(group_, due));
    mark(Phase::memory_draw);
    replay_.sample(draws, spec_.learn.batch, seed_, c.batches,
                   options_.replay.beta.at(c.progress()));
    due -= draws;
    for (int draw = 0; draw < draws; ++draw) {
      update(replay_.batch(draw), training);
      ++c.batches;
      if (!options_.replay.prioritised) continue;
      mark(Phase::memory_draw);
      replay_.set_priorities(0, errors());
    }
  }
}

void ContinuousLearner::check_actor(double loss, double gradient_norm, const Counters& counters) {
  if (std::isfinite(loss) && std::isfinite(gradient_norm)) return;
  throw RunError(fmt::format(
      "non-finite {} of network actor in update {} (env step {}); its parameters before it are "
      "kept. A smaller optimiser.learning_rate or optimiser.max_grad_norm may help",
      std::isfinite(loss) ? "gradient" : "loss", counters.updates + 1, counters.env_steps));
}

std::vector<NamedNetwork> ContinuousLearner::networks() {
  std::vector<NamedNetwork> all = {{"actor", &actor()}};
  for (int k = 0; k < critics().count(); ++k)
    all.push_back({Critics::name(k), &critics().network(k)});
  return all;
}

void ContinuousLearner::settings(const Counters& counters, const NumberVisitor& visitor) const {
  if (options_.replay.prioritised) visitor("beta", options_.replay.beta.at(counters.progress()));
  visitor("learning_rate", learning_rate(counters));
  visitor("critic_learning_rate", critic_learning_rate(counters));
}

// Uses the complement of the seed, so the random streams of training are not affected.
Signs ContinuousLearner::signs(const Counters& counters) {
  replay_.sample(1, kProbeRows, ~seed_, static_cast<std::uint64_t>(counters.env_steps));
  const Batch batch = replay_.batch(0);
  Signs signs;
  critics().evaluate(batch.obs, batch.continuous_actions, probe_);
  signs.largest_value = 0;
  for (int row = 0; row < kProbeRows; ++row) {
    const double q = static_cast<double>(probe_.value(row));
    signs.largest_value = std::max(signs.largest_value, std::abs(q));
  }
  signs.bonus = bonus();
  signs.terminal_share =
      static_cast<double>(replay_.terminals()) / static_cast<double>(replay_.size());
  compare_returns(signs);
  return signs;
}

void ContinuousLearner::compare_returns(Signs& signs) {
  const int count = episodes_.count();
  if (count == 0) return;
  critics().evaluate(episodes_.obs(), episodes_.actions(), probe_);
  const std::span<const double> returns = episodes_.returns().first(count);
  double difference = 0, size = 0;
  for (int row = 0; row < count; ++row) {
    const double q = static_cast<double>(probe_.value(row));
    difference += (q - returns[row]) / count;
    size += std::abs(returns[row]) / count;
  }
  const auto [low, high] = std::minmax_element(returns.begin(), returns.end());
  signs.critic_bias = difference;
  signs.return_scale = size + *high - *low;
}

void ContinuousLearner::visit(const ArrayVisitor& visitor) {
  visit_shared(visitor);
  for (int k = 0; k < critics().count(); ++k) {
    if (critics().target(k).empty()) continue;
    visitor(fmt::format("{}.target", Critics::name(k)), critics().target(k), Limits::finite());
  }
  visit_own(visitor);
  if (!frozen_.empty()) visitor("frozen", frozen_, Limits::finite());
  episodes_.visit([&](const std::string& name, auto array, const Limits& limits) {
    visitor("probe." + name, array, limits);
  });
  replay_.visit([&](const std::string& name, auto array, const Limits& limits) {
    visitor("replay." + name, array, limits);
  });
}

// `learn` makes the difference between the updates that are due and those made. A wrong count would
// make it run for years.
void ContinuousLearner::restored(const Counters& c) {
  LearnerBase::restored(c);
  if (!frozen_.empty()) check_limits(acting().structure(), frozen_, "frozen");
  replay_.restored(c.env_steps);
  const std::int64_t learnt = std::max<std::int64_t>(0, c.train_events - spec_.learn.pipelined);
  if (c.updates < updates_due(spec_.learn, learnt) || c.updates != c.batches) {
    throw RunError(
        fmt::format("{} updates on {} batches do not fit {} rounds of learning: {} updates are due",
                    c.updates, c.batches, c.train_events, updates_due(spec_.learn, learnt)));
  }
}

}  // namespace hotloop
