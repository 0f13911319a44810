#include "algo/ppo/learner.hpp"

#include <algorithm>
#include <cmath>

#include "algo/common/algorithm.hpp"
#include "algo/common/returns.hpp"

namespace hotloop {

ActorCriticHead ppo_head(const AgentSpec& spec, const WorldFacts& world) {
  const auto& o = options_of<PpoOptions>(spec);
  const EnvSpec& env = world.spec;
  const bool continuous = env.actions == 0;
  return {.policy = {.kind = continuous ? PolicyKind::gaussian : PolicyKind::categorical,
                     .actions = continuous ? env.action_size : env.actions,
                     .squash = o.squash,
                     .low = env.action_low,
                     .high = env.action_high},
          .values = 1 + static_cast<int>(o.part_weights.size())};
}

RolloutShape ppo_rollout_shape(const AgentSpec& spec, const WorldFacts& world) {
  const auto& o = options_of<PpoOptions>(spec);
  return rollout_shape(o.rollout, static_cast<int>(o.part_weights.size()), spec, world);
}

PpoLearner::PpoLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
    : LearnerBase(spec, world, seed),
      options_(options_of<PpoOptions>(spec)),
      ppo_(spec.algorithm->network(spec, world), ppo_head(spec, world), spec, seed, scale()),
      rollout_(ppo_rollout_shape(spec, world)),
      finals_(rollout_.shape()) {
  const PolicyHead& policy = ppo_.head().policy;
  const std::size_t heads = ppo_.head().values;
  const std::size_t lanes = spec.envs, places = lanes * options_.rollout.n_steps;
  old_policy_ = {.raw = arena_.take<float>(places * policy.raw_size()),
                 .log_probability = arena_.take<float>(places),
                 .distribution = arena_.take<float>(places * policy.outputs()),
                 .values = arena_.take<float>(heads * (places + lanes)),
                 .value_stride = places + lanes};
  next_values_ = arena_.take<float>(heads * places);
  returns_ = arena_.take<float>(heads * places);
  advantages_ = arena_.take<float>(places);
  order_ = arena_.take<std::int32_t>(places);
  static_assert(FinalStates::kRows <= Ppo::kValueRows);
  final_values_ = arena_.take<float>(heads * FinalStates::kRows);
}

void PpoLearner::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  rollout_.begin(obs, mask);
}

void PpoLearner::act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                     std::uint64_t vector_step, const Counters&, ThreadTeam& team,
                     Actions& actions) {
  const std::size_t first = static_cast<std::size_t>(rollout_.filled()) * spec_.envs;
  ppo_.act(obs, mask, vector_step, team, first, old_policy_, actions.discrete, actions.continuous);
}

void PpoLearner::push(const Transitions& step, Counters&) {
  observe_rewards(step);
  rollout_.push(step);
}

// Computes V of all states, if acting did not, and of the state after each step: the next row, or
// the final state of a truncated episode.
void PpoLearner::compute_values(ThreadTeam& team) {
  const RolloutShape& shape = rollout_.shape();
  const std::size_t lanes = shape.lanes, places = lanes * shape.steps;
  const std::size_t width = shape.obs;
  for (std::size_t i = ppo_.values_are_separate() ? 0 : places; i < places + lanes;
       i += Ppo::kValueRows) {
    const int count = static_cast<int>(std::min<std::size_t>(Ppo::kValueRows, places + lanes - i));
    ppo_.values(&rollout_.obs()[i * width], count, &old_policy_.values[i], old_policy_.value_stride,
                team);
  }
  const int heads = ppo_.head().values;
  for (int h = 0; h < heads; ++h) {
    std::copy_n(values_of(h).begin() + lanes, places, next_values_.begin() + h * places);
  }
  finals_.for_each_batch(rollout_, [&](auto final_places, const float* obs, auto) {
    ppo_.values(obs, static_cast<int>(final_places.size()), final_values_.data(),
                FinalStates::kRows, team);
    for (std::size_t i = 0; i < final_places.size(); ++i) {
      for (int h = 0; h < heads; ++h) {
        next_values_[h * places + final_places[i]] = final_values_[h * FinalStates::kRows + i];
      }
    }
  });
}

void PpoLearner::compute_returns() {
  const RolloutShape& shape = rollout_.shape();
  const std::size_t places = advantages_.size();
  for (int h = 0; h < ppo_.head().values; ++h) {
    lambda_returns(shape.steps, shape.lanes, spec_.learn.gamma, options_.rollout.lambda,
                   h == 0 ? rollout_.rewards() : rollout_.reward_parts().subspan((h - 1) * places),
                   reward_factor(), rollout_.terminated(), rollout_.truncated(),
                   next_values_.subspan(h * places), returns_.subspan(h * places, places));
  }
  for (std::size_t i = 0; i < places; ++i) advantages_[i] = returns_[i] - old_policy_.values[i];
  if (options_.advantages == Standardise::rollout) standardise(advantages_);
  if (options_.advantages == Standardise::episode) {
    standardise_episodes(shape.steps, shape.lanes, rollout_.terminated(), rollout_.truncated(),
                         advantages_);
  }
}

void PpoLearner::learn(Training training) {
  Counters& c = training.counters;
  mark(Phase::learn_returns);
  compute_values(training.team);
  compute_returns();
  const PpoOptions& o = options_;
  const std::size_t batch = spec_.learn.batch;
  Progress progress = c.progress();
  progress.env_steps -= spec_.learn.train_every;  // schedules use the start of the rollout
  double divergence = 0;
  for (int epoch = 0; epoch < o.rollout.n_epochs; ++epoch) {
    if (o.target_kl > 0 && divergence > o.target_kl) break;
    divergence = 0;
    mark(Phase::memory_draw);
    shuffle(static_cast<std::uint64_t>(c.train_events) * o.rollout.n_epochs + epoch, order_);
    for (std::size_t first = 0; first < order_.size(); first += batch) {
      const UpdateInput input{.rollout = rollout_,
                              .old_policy = old_policy_,
                              .returns = returns_,
                              .advantages = advantages_,
                              .clip = o.clip_range.at(progress),
                              .entropy_weight = o.ent_coef.at(progress),
                              .learning_rate = spec_.optimiser.learning_rate.at(progress)};
      const PpoReport report = ppo_.update(input, order_.subspan(first, batch), training.team);
      record(report, kPpoColumns, training);
      ++c.batches;
      progress.updates = c.updates;
      divergence += report.kl * static_cast<double>(batch) / static_cast<double>(order_.size());
    }
  }
  mark(Phase::memory_push);
  observe(rollout_.obs().first(advantages_.size() * rollout_.shape().obs));
  rollout_.restart();
}

Signs PpoLearner::signs(const Counters&) {
  const std::span<const std::uint8_t> terminated = rollout_.terminated();
  const auto ended = std::count(terminated.begin(), terminated.end(), 1);
  double largest = 0;
  for (const float value : values_of(0).first(old_policy_.value_stride)) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return {.largest_value = largest,
          .terminal_share = static_cast<double>(ended) / static_cast<double>(terminated.size())};
}

void PpoLearner::settings(const Counters& counters, const NumberVisitor& visitor) const {
  visitor("ent_coef", options_.ent_coef.at(counters.progress()));
  visitor("learning_rate", learning_rate(counters));
}

void PpoLearner::visit(const ArrayVisitor& visitor) {
  visit_shared(visitor);
  rollout_.visit([&](const std::string& name, auto array, const Limits& limits) {
    visitor("rollout." + name, array, limits);
  });
  const PolicyHead& policy = ppo_.head().policy;  // a raw discrete action is an index
  visitor("acted.raw", old_policy_.raw,
          policy.is_continuous() ? Limits::finite() : Limits::index_below(policy.actions));
  visitor("acted.log_probability", old_policy_.log_probability, Limits::finite());
  visitor("acted.distribution", old_policy_.distribution, Limits::finite());
  visitor("acted.values", old_policy_.values, Limits::finite());
}

void PpoLearner::restored(const Counters& counters) {
  LearnerBase::restored(counters);
  rollout_.restored(counters.env_steps);
}

}  // namespace hotloop
