#include "algo/sac/learner.hpp"

#include <algorithm>
#include <cmath>

#include "algo/common/algorithm.hpp"
#include "algo/common/continuous/tanh_head.hpp"

namespace hotloop {

SacLearner::SacLearner(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
    : ContinuousLearner(spec, world, seed, options_of<SacOptions>(spec),
                        spec.algorithm->network(spec, world)),
      options_(options_of<SacOptions>(spec)),
      sac_(spec.algorithm->network(spec, world), critic_structure(spec, options_.critics, world),
           spec, seed, scale()) {}

void SacLearner::explore(const float* outputs, int env, std::uint64_t vector_step, const Progress&,
                         float* a) {
  Rng rng(seed_, Purpose::exploration, static_cast<std::uint32_t>(env), vector_step);
  for (int i = 0; i < range_.size; ++i) {
    const float log_std =
        std::clamp(outputs[(range_.size + i) * kLanes], kMinSquashedLogStd, kMaxSquashedLogStd);
    a[i] = std::tanh(outputs[i * kLanes] + std::exp(log_std) * static_cast<float>(rng.normal()));
  }
}

void SacLearner::update(const Batch& batch, Training& training) {
  const Counters& c = training.counters;
  sac_.set_reward_factor(reward_factor());
  const SacReport report =
      sac_.update(batch,
                  {.actor = learning_rate(c),
                   .critics = critic_learning_rate(c),
                   .temperature = options_.ent_coef_learning_rate.at(c.progress())},
                  static_cast<std::uint64_t>(c.updates), training.team);
  check_actor(report.actor_loss, report.actor_gradient_norm, c);
  record(report, kSacColumns, training);
  if (!options_.critics.crossq) ++training.counters.target_updates;
}

void SacLearner::settings(const Counters& counters, const NumberVisitor& visitor) const {
  ContinuousLearner::settings(counters, visitor);
  if (sac_.learns_temperature())
    visitor("ent_coef_learning_rate", options_.ent_coef_learning_rate.at(counters.progress()));
}

void SacLearner::visit_own(const ArrayVisitor& visitor) {
  visit_report(sac_.report(), kSacColumns, visitor);
  visitor("log_ent_coef", sac_.log_temperature(),
          Limits::between(-kMaxLogTemperature, kMaxLogTemperature));
  if (!sac_.learns_temperature()) return;
  Optimiser& optimiser = sac_.temperature_optimiser();
  visitor("log_ent_coef.optimiser.first", optimiser.first(), Limits::finite());
  visitor("log_ent_coef.optimiser.second", optimiser.second(), Limits::at_least(0));
  visitor("log_ent_coef.optimiser.powers", optimiser.powers(), Limits::between(0, 1));
}

}  // namespace hotloop
