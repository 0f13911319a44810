#include "algo/pqn/learner.hpp"

#include <algorithm>
#include "algo/common/algorithm.hpp"

namespace hotloop {

PqnLearner::PqnLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
    : LearnerBase(spec, world, seed),
      options_(options_of<PqnOptions>(spec)),
      pqn_(spec.algorithm->network(spec, world), spec, seed, scale()),
      rollout_(rollout_shape(options_.rollout, 0, spec, world)),
      finals_(rollout_.shape()) {
  const std::size_t lanes = spec.envs;
  const std::size_t transitions = lanes * options_.rollout.n_steps;
  best_ = arena_.take<float>(transitions + lanes);
  taken_ = arena_.take<float>(transitions + lanes);
  next_values_ = arena_.take<float>(transitions);
  final_values_ = arena_.take<float>(FinalStates::kRows);
  returns_ = arena_.take<float>(transitions);
  order_ = arena_.take<std::int32_t>(transitions);
  next_action_ = arena_.take<std::int32_t>(lanes);
  vector_step_ = arena_.take<std::int64_t>(1);
}

void PqnLearner::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  observe(obs);
  rollout_.begin(obs, mask);
}

void PqnLearner::act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                     std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                     Actions& actions) {
  if (is_sarsa() && rollout_.filled() == 0 && counters.train_events > 0) {
    std::copy(next_action_.begin(), next_action_.end(), actions.discrete.begin());
  } else {
    const std::size_t lanes = spec_.envs;
    const std::size_t row = lanes * rollout_.filled();
    acting().act(obs, mask, exploration_at(options_.explore, counters.progress()), vector_step,
                 team, actions.discrete, {best_.subspan(row, lanes), taken_.subspan(row, lanes)});
  }
  vector_step_[0] = static_cast<std::int64_t>(vector_step) + 1;
}

void PqnLearner::push(const Transitions& step, Counters&) {
  observe(step);
  rollout_.push(step);
}

// Computes V of the state after the rollout. SARSA already chooses the action that it will take
// there, before learning changes its policy.
void PqnLearner::evaluate_last_state(const Counters& counters, ThreadTeam& team) {
  const std::size_t lanes = spec_.envs;
  const std::size_t row = lanes * options_.rollout.n_steps;
  const RolloutShape& shape = rollout_.shape();
  const auto obs = rollout_.obs().subspan(row * shape.obs);
  const auto mask =
      shape.masks ? rollout_.mask().subspan(row * shape.actions) : std::span<const std::uint8_t>();
  if (is_sarsa()) {
    acting().act(obs, mask, exploration_at(options_.explore, counters.progress()),
                 static_cast<std::uint64_t>(vector_step_[0]), team, next_action_,
                 {best_.subspan(row, lanes), taken_.subspan(row, lanes)});
  } else {
    pqn_.values(obs.data(), shape.masks ? mask.data() : nullptr, spec_.envs, kGreedyPolicy,
                best_.subspan(row, lanes), team);
  }
}

void PqnLearner::compute_returns(const Counters& counters, ThreadTeam& team) {
  const std::size_t lanes = spec_.envs;
  const std::span<const float> values = is_sarsa() ? taken_ : best_;
  std::copy(values.begin() + static_cast<std::ptrdiff_t>(lanes), values.end(),
            next_values_.begin());
  const RolloutShape& shape = rollout_.shape();
  const Exploration policy =
      is_sarsa() ? exploration_at(options_.explore, counters.progress()) : kGreedyPolicy;
  finals_.for_each_batch(rollout_, [&](auto places, const float* obs, const std::uint8_t* mask) {
    pqn_.values(obs, mask, static_cast<int>(places.size()), policy, final_values_, team);
    for (std::size_t i = 0; i < places.size(); ++i) next_values_[places[i]] = final_values_[i];
  });
  lambda_returns(shape.steps, shape.lanes, spec_.learn.gamma, options_.rollout.lambda,
                 rollout_.rewards(), reward_factor(), rollout_.terminated(), rollout_.truncated(),
                 next_values_, returns_);
}

void PqnLearner::learn(Training training) {
  Counters& c = training.counters;
  mark(Phase::learn_returns);
  evaluate_last_state(c, training.team);
  mark(Phase::learn_returns);
  compute_returns(c, training.team);
  const std::size_t batch = spec_.learn.batch;
  for (int epoch = 0; epoch < options_.rollout.n_epochs; ++epoch) {
    mark(Phase::memory_draw);
    shuffle(static_cast<std::uint64_t>(c.train_events) * options_.rollout.n_epochs + epoch, order_);
    for (std::size_t first = 0; first < order_.size(); first += batch) {
      record(pqn_.update(rollout_, order_.subspan(first, batch), returns_, learning_rate(c),
                         static_cast<std::uint64_t>(c.updates), training.team),
             kQColumns, training);
      ++c.batches;
    }
  }
  mark(Phase::memory_push);
  rollout_.restart();
}

void PqnLearner::settings(const Counters& counters, const NumberVisitor& visitor) const {
  visit_exploration(exploration_at(options_.explore, counters.progress()), visitor);
  visitor("learning_rate", learning_rate(counters));
}

Signs PqnLearner::signs(const Counters&) {
  const int rows = std::min(spec_.envs * options_.rollout.n_steps, QNetwork::kProbeRows);
  const std::span<const std::uint8_t> terminated = rollout_.terminated();
  const auto ended = std::count(terminated.begin(), terminated.end(), 1);
  const Probe probe = acting().probe(rollout_.obs().data(), rows,
                                     rollout_.mask().empty() ? nullptr : rollout_.mask().data());
  return {.largest_value = probe.largest_q,
          .action_gap = probe.action_gap,
          .best_value = probe.best_q,
          .terminal_share = static_cast<double>(ended) / static_cast<double>(terminated.size())};
}

void PqnLearner::visit(const ArrayVisitor& visitor) {
  visit_shared(visitor);
  rollout_.visit([&](const std::string& name, auto array, const Limits& limits) {
    visitor("rollout." + name, array, limits);
  });
  visitor("values.best", best_, Limits::finite());
  visitor("values.taken", taken_, Limits::finite());
  visitor("next_action", next_action_, Limits::index_below(rollout_.shape().actions));
  visitor("vector_step", vector_step_, Limits::count());
}

void PqnLearner::restored(const Counters& counters) {
  LearnerBase::restored(counters);
  rollout_.restored(counters.env_steps);
  if (is_sarsa() && rollout_.filled() == 0 && counters.train_events > 0) {
    rollout_.check_allowed(next_action_, "next_action");
  }
}

}  // namespace hotloop
