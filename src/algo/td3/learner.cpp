#include "algo/td3/learner.hpp"

#include <algorithm>
#include <cmath>

#include "algo/common/algorithm.hpp"

namespace hotloop {

Td3Learner::Td3Learner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
    : ContinuousLearner(spec, world, seed, options_of<Td3Options>(spec),
                        spec.algorithm->network(spec, world)),
      options_(options_of<Td3Options>(spec)),
      td3_(spec.algorithm->network(spec, world), critic_structure(spec, options_.critics, world),
           spec, seed, scale()) {
  if (options_.noise == NoiseKind::ornstein_uhlenbeck)
    drift_ = arena_.take<float>(static_cast<std::size_t>(spec.envs) * range_.size);
}

// Ornstein-Uhlenbeck noise (Uhlenbeck & Ornstein 1930) in steps of one: x <- x - theta x + std e.
void Td3Learner::explore(const float* outputs, int env, std::uint64_t vector_step,
                         const Progress& progress, float* a) {
  Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(env), vector_step);
  const auto std = static_cast<float>(options_.noise_std.at(progress));
  for (int i = 0; i < range_.size; ++i) {
    float noise = std * static_cast<float>(rng.normal());
    if (!drift_.empty()) {
      float& drift = drift_[static_cast<std::size_t>(env) * range_.size + i];
      drift += noise - static_cast<float>(options_.noise_theta) * drift;
      noise = drift;
    }
    // A NaN stays one, for the caller to find.
    a[i] = std::clamp(std::tanh(outputs[i * kLanes]) + noise, -1.0f, 1.0f);
  }
}

// The drift starts at zero in every episode.
void Td3Learner::push(const Transitions& step, Counters& counters) {
  ContinuousLearner::push(step, counters);
  if (drift_.empty()) return;
  for (int env = 0; env < spec_.envs; ++env) {
    if ((step.terminated[env] | step.truncated[env]) != 0)
      std::fill_n(&drift_[static_cast<std::size_t>(env) * range_.size], range_.size, 0.0f);
  }
}

void Td3Learner::update(const Batch& batch, Training& training) {
  const Counters& c = training.counters;
  td3_.set_reward_factor(reward_factor());
  const Td3Report report =
      td3_.update(batch, {.actor = learning_rate(c), .critics = critic_learning_rate(c)},
                  static_cast<std::uint64_t>(c.updates), training.team);
  if (!options_.critics.crossq && td3_.updates_actor(static_cast<std::uint64_t>(c.updates)))
    ++training.counters.target_updates;
  check_actor(report.actor_loss, report.actor_gradient_norm, c);
  record(report, kTd3Columns, training);
}

void Td3Learner::settings(const Counters& counters, const NumberVisitor& visitor) const {
  ContinuousLearner::settings(counters, visitor);
  visitor("noise_std", options_.noise_std.at(counters.progress()));
}

void Td3Learner::visit_own(const ArrayVisitor& visitor) {
  visit_report(td3_.report(), kTd3Columns, visitor);
  if (!td3_.actor_target().empty()) visitor("actor.target", td3_.actor_target(), Limits::finite());
  if (!drift_.empty()) visitor("noise", drift_, Limits::finite());
}

}  // namespace hotloop
