#include "algo/common/learner_base.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include <hotloop/error.hpp>

namespace hotloop {

LearnerBase::LearnerBase(const AgentSpec& spec, const WorldFacts& world, std::uint64_t seed)
    : spec_(spec), seed_(seed) {
  if (spec.learn.normalise_obs) obs_.emplace(world.spec.obs);
  if (spec.learn.normalise_rewards) rewards_.emplace(spec.envs, spec.learn.gamma);
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
  Rng rng(seed_, Purpose::replay, 1, stream);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[rng.below(static_cast<std::uint32_t>(i + 1))]);
  }
}

void LearnerBase::count_update(const UpdateReport& report, Training& training) {
  Counters& c = training.counters;
  ++c.updates;
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    throw RunError(fmt::format(
        "non-finite {} in update {} (env step {}); the parameters before it are kept. A smaller "
        "learning rate or optimiser.max_grad_norm may help",
        std::isfinite(report.loss) ? "gradient" : "loss", c.updates, c.env_steps));
  }
  ++training.window.updates;
}

void LearnerBase::visit_shared(const ArrayVisitor& visitor) {
  for (const auto& [name, network] : networks()) {
    const std::string prefix(name);
    visitor(prefix, network->online(), Limits::finite());
    visitor(prefix + ".optimiser.first", network->optimiser().first(), Limits::finite());
    visitor(prefix + ".optimiser.second", network->optimiser().second(), Limits::at_least(0));
    visitor(prefix + ".optimiser.powers", network->optimiser().powers(), Limits::between(0, 1));
  }
  if (obs_) {
    obs_->visit([&](const char* name, auto array, const Limits& limits) {
      visitor(std::string("normaliser.obs.") + name, array, limits);
    });
  }
  if (rewards_) {
    rewards_->visit([&](const char* name, auto array, const Limits& limits) {
      visitor(std::string("normaliser.rewards.") + name, array, limits);
    });
  }
}

void LearnerBase::restored(const Counters&) {
  for (const auto& [name, network] : networks()) {
    check_limits(network->structure(), network->online(), name);
  }
  if (rewards_) rewards_->restored();
}

}  // namespace hotloop
