#include "algo/common/learner_base.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include <hotloop/error.hpp>

namespace hotloop {

LearnerBase::LearnerBase(const TrainSpec& spec) : spec_(spec) {
  if (spec.q.normalise_obs) obs_.emplace(env_spec(spec.world()).obs);
  if (spec.q.normalise_rewards) rewards_.emplace(spec.envs, spec.q.gamma);
}

Exploration LearnerBase::exploration(const Counters& c) const {
  const QOptions& q = spec_.q;
  return {.kind = q.explore,
          .epsilon = q.epsilon.at(c.progress()),
          .steps = q.explore_steps,
          .temperature = q.temperature.at(c.progress())};
}

void LearnerBase::observe(std::span<const float> obs) {
  if (obs_) obs_->add(obs);
}

void LearnerBase::observe(const Transitions& step) {
  observe(step.next_obs);
  observe_rewards(step);
}

void LearnerBase::observe_rewards(const Transitions& step) {
  if (rewards_) rewards_->add(step.rewards, step.terminated, step.truncated);
}

void LearnerBase::shuffle(std::uint64_t stream, std::span<std::int32_t> order) const {
  Rng rng(spec_.run.seed, Purpose::replay, 1, stream);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[rng.below(static_cast<std::uint32_t>(i + 1))]);
  }
}

void LearnerBase::record(const UpdateReport& report, Training& training) const {
  Counters& c = training.counters;
  ++c.updates;
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    throw RunError(fmt::format(
        "non-finite {} in update {} (env step {}); the parameters before it are kept. A smaller "
        "learning rate or optimiser.clip_norm may help",
        std::isfinite(report.loss) ? "gradient" : "loss", c.updates, c.env_steps));
  }
  Window& w = training.window;
  w.loss += report.loss;
  w.mean_q += report.mean_q;
  w.gradient_norm += report.gradient_norm;
  w.entropy += report.entropy;
  w.kl += report.kl;
  w.clipped += report.clipped;
  ++w.updates;
}

void LearnerBase::visit_shared(LearntNetwork& network, const ArrayVisitor& visitor) {
  visitor("online", network.online());
  visitor("optimiser.first", network.optimiser().first());
  visitor("optimiser.second", network.optimiser().second());
  visitor("optimiser.powers", network.optimiser().powers());
  if (obs_) {
    obs_->visit([&](const char* name, auto array) {
      visitor(std::string("normaliser.obs.") + name, array);
    });
  }
  if (rewards_) {
    rewards_->visit([&](const char* name, auto array) {
      visitor(std::string("normaliser.rewards.") + name, array);
    });
  }
}

}  // namespace hotloop
