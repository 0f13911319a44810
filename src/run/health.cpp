#include "run/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

enum Sign { kDiverging, kNoGap, kNoEndings, kTargetLag, kGradient, kSigns };

// Bounds found on healthy and on failing runs of the classic worlds; docs/algorithms.md has the figures.
constexpr double kMostOfBound = 1.25;
constexpr double kLeastGap = 2e-5;       // of the largest |Q|
constexpr double kFewestEndings = 2e-4;  // one transition in 5,000
constexpr double kMostLag = 0.5;
constexpr double kMostGradient = 1e4;

std::string describe(Sign sign, const Health& h, const TrainSpec& spec) {
  switch (sign) {
    case kDiverging:
      return fmt::format(
          "values are diverging: {:.3g} where no policy can earn more than {:.3g} (largest reward "
          "/ "
          "(1 - gamma)). Try {}a smaller optimiser.learning_rate{}",
          h.largest_q, h.q_bound,
          spec.algorithm == Algorithm::dqn && !spec.q.double_q ? "algo.double, " : "",
          spec.algorithm == Algorithm::dqn ? " or a larger algo.target.every" : "");
    case kNoGap:
      return fmt::format(
          "the network hardly tells actions apart: best and second best differ by {:.2g} where "
          "values reach {:.3g}. Try algo.n_step, a smaller algo.gamma or a larger network",
          h.action_gap, h.largest_q);
    case kNoEndings:
      return fmt::format(
          "the memory has run out of episodes that ended by themselves: {:.2g} % of its "
          "transitions "
          "did. What leads to an end may be forgotten, and the policy with it; try algo.n_step, a "
          "larger algo.target.every, or a higher final algo.epsilon",
          100 * h.terminal_share);
    case kTargetLag:
      return fmt::format(
          "the target network is {:.2g} times the online network's size away from it; try a "
          "smaller algo.target.every or a smaller optimiser.learning_rate",
          h.target_lag);
    default:
      return fmt::format(
          "the mean gradient norm is {:.3g}; try {}a smaller optimiser.learning_rate{}",
          h.gradient_norm, spec.optimiser.clip_norm > 0 ? "" : "optimiser.clip_norm 10, ",
          spec.algorithm == Algorithm::ppo ? ", or algo.normalise.rewards"
                                           : ", or algo.loss huber");
  }
}

}  // namespace

Health examine(Trainer& trainer) {
  const Signs signs = trainer.learner().signs(trainer.counters());
  const QOptions& q = trainer.spec().q;
  double bound = kNone;
  if (q.gamma < 1) {
    bound = trainer.largest_reward() * trainer.learner().reward_factor() / (1 - q.gamma);
  }
  // A distribution starts around the middle of its support, and can never leave it.
  if (q.head == HeadKind::c51) bound = std::max({std::abs(q.v_min), std::abs(q.v_max), bound});
  const Window& window = trainer.window();
  return {.largest_q = signs.probe.largest_q,
          .q_bound = bound,
          .action_gap = signs.probe.action_gap,
          .terminal_share = signs.terminal_share,
          .target_lag = signs.target_lag,
          .gradient_norm = window.updates > 0
                               ? window.gradient_norm / static_cast<double>(window.updates)
                               : kNone};
}

std::uint32_t bad_signs(const Health& h, const TrainSpec& spec) {
  std::uint32_t bad = 0;
  const auto mark = [&](Sign sign, bool is_bad) { bad |= std::uint32_t{is_bad} << sign; };
  if (std::isnan(h.gradient_norm)) return 0;  // nothing was learnt yet
  // Fresh random networks may say anything while rewards are still unknown.
  mark(kDiverging, h.q_bound > 0 && h.largest_q > kMostOfBound * h.q_bound + 1);
  mark(kNoGap, h.largest_q > 1 && h.action_gap < kLeastGap * h.largest_q);
  mark(kNoEndings, spec.algorithm == Algorithm::dqn && h.terminal_share < kFewestEndings);
  mark(kTargetLag, h.target_lag > kMostLag);
  mark(kGradient, h.gradient_norm > kMostGradient);
  return bad;
}

std::vector<std::string> watch(const Health& health, const TrainSpec& spec, std::int64_t env_steps,
                               HealthRecord& record) {
  std::uint32_t bad = bad_signs(health, spec);
  // An environment whose episodes have never ended by themselves has none to run out of.
  record.had_endings |= health.terminal_share >= kFewestEndings;
  if (!record.had_endings) bad &= ~(1u << kNoEndings);
  const std::uint32_t raised = bad & record.bad & ~record.raised;
  record.bad = bad;
  record.raised |= raised;
  std::vector<std::string> warnings;
  for (int sign = 0; sign < kSigns; ++sign) {
    if ((raised >> sign & 1) == 0) continue;
    warnings.push_back(fmt::format("at env step {}: {}", env_steps,
                                   describe(static_cast<Sign>(sign), health, spec)));
  }
  record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  return warnings;
}

}  // namespace hotloop
