#include "train/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

enum Sign { kDiverging, kNoGap, kNoEndings, kTargetLag, kGradient, kPressed, kSigns };

// Bounds found on healthy and on failing runs of the classic worlds; docs/algorithms.md has the figures.
constexpr double kMostOfBound = 1.25;
constexpr double kLeastGap = 2e-5;       // of the largest |Q|
constexpr double kFewestEndings = 2e-4;  // one transition in 5,000
constexpr double kMostLag = 0.5;
constexpr double kMostGradient = 1e4;
constexpr double kEdge = 0.02;  // of the support of a distribution

std::string describe(Sign sign, const Health& h, const TrainSpec& spec) {
  const bool dqn = spec.algorithm == Algorithm::dqn, has_target = dqn && spec.q.target_every > 0;
  const bool munchausen = spec.q.munchausen > 0;  // takes neither Double nor several steps
  switch (sign) {
    case kDiverging:
      return fmt::format(
          "values are diverging: {:.3g} where no policy can earn more than {:.3g} (largest reward "
          "/ "
          "(1 - gamma)). Try {}a smaller optimiser.learning_rate{}",
          h.largest_q, h.q_bound,
          has_target && !spec.q.double_q && !munchausen ? "algo.double, " : "",
          !dqn         ? ""
          : has_target ? " or a larger algo.target.every"
                       : " or a target network (algo.target.every)");
    case kNoGap:
      return fmt::format(
          "the network hardly tells actions apart: best and second best differ by {:.2g} where "
          "values reach {:.3g}. Try {}a smaller algo.gamma or a larger network",
          h.action_gap, h.largest_q,
          munchausen ? ""
          : dqn      ? "a larger algo.n_step, "
                     : "a larger algo.lambda, ");
    case kNoEndings:
      return fmt::format(
          "the memory has run out of episodes that ended by themselves: {:.2g} % of its "
          "transitions "
          "did. What leads to an end may be forgotten, and the policy with it; try {}a "
          "larger algo.target.every, or a higher final {}",
          100 * h.terminal_share, munchausen ? "" : "a larger algo.n_step, ",
          spec.q.explore == Explore::boltzmann ? "algo.temperature" : "algo.epsilon");
    case kTargetLag:
      return fmt::format(
          "the target network is {:.2g} times the online network's size away from it; try a "
          "smaller algo.target.every or a smaller optimiser.learning_rate",
          h.target_lag);
    case kPressed:
      return fmt::format(
          "values lie at an end of what the c51 head can say ({}: {:g}), but rewards may add up to "
          "{:.3g}: give it a wider support",
          h.beyond > 0 ? "algo.v_max" : "algo.v_min", h.beyond > 0 ? spec.q.v_max : spec.q.v_min,
          h.beyond);
    default:
      return fmt::format(
          "the mean gradient norm is {:.3g}; try {}a smaller optimiser.learning_rate{}",
          h.gradient_norm, spec.optimiser.clip_norm > 0 ? "" : "optimiser.clip_norm 10, ",
          spec.q.loss == Loss::mse && spec.algorithm != Algorithm::ppo &&
                  spec.q.head == HeadKind::scalar
              ? ", or algo.loss huber"
          : spec.q.normalise_rewards ? ""
                                     : ", or algo.normalise.rewards");
  }
}

}  // namespace

Health examine(Trainer& trainer) {
  const Signs signs = trainer.learner().signs(trainer.counters());
  const QOptions& q = trainer.spec().q;
  const RewardRange rewards = trainer.rewards();
  const double scale = q.gamma < 1 ? trainer.learner().reward_factor() / (1 - q.gamma) : kNone;
  double bound = rewards.largest() * scale;
  double beyond = 0;
  if (q.head == HeadKind::c51) {
    const double margin = kEdge * (q.v_max - q.v_min), value = signs.probe.best_q;
    const double most = rewards.most * scale, least = rewards.least * scale;
    if (value > q.v_max - margin && most > q.v_max + margin) beyond = most;
    if (value < q.v_min + margin && least < q.v_min - margin) beyond = least;
    // A distribution starts around the middle of its support, and can never leave it.
    bound = std::max({std::abs(q.v_min), std::abs(q.v_max), bound});
  }
  const Window& window = trainer.window();
  return {.largest_q = signs.probe.largest_q,
          .q_bound = bound,
          .action_gap = signs.probe.action_gap,
          .terminal_share = signs.terminal_share,
          .target_lag = signs.target_lag,
          .gradient_norm = window.updates > 0
                               ? window.gradient_norm / static_cast<double>(window.updates)
                               : kNone,
          .beyond = beyond};
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
  mark(kPressed, h.beyond != 0);
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
