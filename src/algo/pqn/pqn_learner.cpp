#include "algo/pqn/pqn_learner.hpp"

#include <algorithm>
#include <cmath>

namespace hotloop {
RolloutLearner::RolloutLearner(const TrainSpec& spec)
    : LearnerBase(spec),
      pqn_(network_structure(spec), spec.net.init, spec.q, spec.optimiser, spec.run.seed, spec.envs,
           scale()),
      rollout_(rollout_shape(spec)),
      finals_(rollout_.shape()) {
  const std::size_t lanes = spec.envs;
  const std::size_t transitions = lanes * spec.q.rollout;
  best_ = arena_.take<float>(transitions + lanes);
  taken_ = arena_.take<float>(transitions + lanes);
  next_values_ = arena_.take<float>(transitions);
  final_values_ = arena_.take<float>(FinalStates::kRows);
  returns_ = arena_.take<float>(transitions);
  order_ = arena_.take<std::int32_t>(transitions);
  next_action_ = arena_.take<std::int32_t>(lanes);
  vector_step_ = arena_.take<std::int64_t>(1);
}

void RolloutLearner::begin(std::span<const float> obs, std::span<const std::uint8_t> mask) {
  observe(obs);
  rollout_.begin(obs, mask);
}

void RolloutLearner::act(std::span<const float> obs, std::span<const std::uint8_t> mask,
                         std::uint64_t vector_step, const Counters& counters, ThreadTeam& team,
                         Actions& actions) {
  if (is_sarsa() && rollout_.filled() == 0 && counters.train_events > 0) {
    std::copy(next_action_.begin(), next_action_.end(), actions.numbers.begin());
  } else {
    const std::size_t lanes = spec_.envs;
    const std::size_t row = lanes * rollout_.filled();
    network().act(obs, mask, exploration(counters), vector_step, team, actions.numbers,
                  {best_.subspan(row, lanes), taken_.subspan(row, lanes)});
  }
  vector_step_[0] = static_cast<std::int64_t>(vector_step) + 1;
}

void RolloutLearner::push(const Transitions& step, Counters&) {
  observe(step);
  rollout_.push(step);
}

// V of the state after the rollout. SARSA chooses the action that it will take there, before
// learning changes what it would choose.
void RolloutLearner::value_last_state(const Counters& counters, ThreadTeam& team) {
  const std::size_t lanes = spec_.envs;
  const std::size_t row = lanes * spec_.q.rollout;
  const RolloutShape& shape = rollout_.shape();
  const auto obs = rollout_.obs().subspan(row * shape.obs);
  const auto mask =
      shape.masks ? rollout_.mask().subspan(row * shape.actions) : std::span<const std::uint8_t>();
  if (is_sarsa()) {
    network().act(obs, mask, exploration(counters), static_cast<std::uint64_t>(vector_step_[0]),
                  team, next_action_, {best_.subspan(row, lanes), taken_.subspan(row, lanes)});
  } else {
    pqn_.values(obs.data(), shape.masks ? mask.data() : nullptr, spec_.envs,
                best_.subspan(row, lanes), team);
  }
}

void RolloutLearner::compute_returns(ThreadTeam& team) {
  const std::size_t lanes = spec_.envs;
  const std::span<const float> values = is_sarsa() ? taken_ : best_;
  std::copy(values.begin() + static_cast<std::ptrdiff_t>(lanes), values.end(),
            next_values_.begin());
  const RolloutShape& shape = rollout_.shape();
  // Nothing was done in a final state; also for SARSA its value is that of the best action.
  finals_.for_each_batch(rollout_, [&](auto places, const float* obs, const std::uint8_t* mask) {
    pqn_.values(obs, mask, static_cast<int>(places.size()), final_values_, team);
    for (std::size_t i = 0; i < places.size(); ++i) next_values_[places[i]] = final_values_[i];
  });
  lambda_returns(shape.steps, shape.lanes, spec_.q.gamma, spec_.q.lambda, rollout_.rewards(),
                 reward_factor(), rollout_.terminated(), rollout_.truncated(), next_values_,
                 returns_);
}

void RolloutLearner::learn(Training training) {
  Counters& c = training.counters;
  mark(Phase::learn_returns);
  value_last_state(c, training.team);
  mark(Phase::learn_returns);
  compute_returns(training.team);
  const std::size_t batch = spec_.q.batch;
  for (int epoch = 0; epoch < spec_.q.epochs; ++epoch) {
    mark(Phase::memory_draw);
    shuffle(static_cast<std::uint64_t>(c.train_events) * spec_.q.epochs + epoch, order_);
    for (std::size_t first = 0; first < order_.size(); first += batch) {
      record(pqn_.update(rollout_, order_.subspan(first, batch), returns_, learning_rate(c),
                         static_cast<std::uint64_t>(c.updates), training.team),
             training);
      ++c.batches;
    }
  }
  mark(Phase::memory_push);
  rollout_.restart();
}

Signs RolloutLearner::signs(const Counters&) {
  const int rows = std::min(spec_.envs * spec_.q.rollout, QNetwork::kProbeRows);
  const std::span<const std::uint8_t> terminated = rollout_.terminated();
  const auto ended = std::count(terminated.begin(), terminated.end(), 1);
  return {.probe = network().probe(rollout_.obs().data(), rows,
                                   rollout_.mask().empty() ? nullptr : rollout_.mask().data()),
          .terminal_share = static_cast<double>(ended) / static_cast<double>(terminated.size()),
          .target_lag = std::nan("")};
}

void RolloutLearner::visit(const ArrayVisitor& visitor) {
  visit_shared(network(), visitor);
  rollout_.visit([&](const std::string& name, auto array) { visitor("rollout." + name, array); });
  visitor("values.best", best_);
  visitor("values.taken", taken_);
  visitor("next_action", next_action_);
  visitor("vector_step", vector_step_);
}

}  // namespace hotloop
