#include "train/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algo/common/algorithm.hpp"

namespace hotloop {
namespace {

// Thresholds from healthy and failing runs of the classic environments (docs/algorithms.md).
constexpr double kMaxShareOfBound = 1.25;
constexpr double kMinGap = 2e-5;            // of the largest |Q|
constexpr double kMinTerminalShare = 2e-4;  // one transition in 5,000
constexpr double kMaxLag = 0.5;
constexpr double kMaxGradient = 1e4;
constexpr double kMaxBias = 1;  // of the size and spread of observed returns
constexpr double kEdge = 0.02;  // of the support of a distribution

std::string describe(Sign sign, const Health& h, const TrainSpec& spec) {
  const std::string advice = spec.algorithm->advice(sign, spec);
  switch (sign) {
    case Sign::diverging:
      return fmt::format(
          "values are diverging: {:.3g}, but no policy can earn more than {:.3g} (largest reward "
          "/ (1 - gamma)). Try {}",
          h.largest_q, h.q_bound, advice);
    case Sign::no_gap:
      return fmt::format(
          "the network hardly distinguishes actions: the best and second best differ by {:.2g}, "
          "while values reach {:.3g}. Try {}",
          h.action_gap, h.largest_q, advice);
    case Sign::no_terminals:
      return fmt::format(
          "the replay memory has run out of terminal transitions: only {:.2g} % are left. The "
          "values near an end, and with them the policy, may be forgotten; try {}",
          100 * h.terminal_share, advice);
    case Sign::target_lag:
      return fmt::format(
          "the target network lags behind by {:.2g} times the norm of the online network; try {}",
          h.target_lag, advice);
    case Sign::support_edge:
      return fmt::format(
          "values are at an end of the support of the c51 head ({}: {:g}), but returns may reach "
          "{:.3g}; give it a wider support",
          h.beyond > 0 ? "algo.v_max" : "algo.v_min", h.end, h.beyond);
    case Sign::critic_bias:
      return fmt::format(
          "the critics overestimate: on average by {:.3g} at the first states of the latest "
          "episodes, "
          "whose returns have a size and spread of {:.3g}. Try {}",
          h.critic_bias, h.return_scale, advice);
    default:
      return fmt::format("the mean gradient norm is {:.3g}; try {}", h.gradient_norm, advice);
  }
}

// The mean over the updates of the window; NaN if there were none.
double mean_gradient_norm(const Trainer& trainer) {
  const Window& window = trainer.window();
  const std::vector<std::string_view> columns = trainer.learner().columns();
  const auto column = std::find(columns.begin(), columns.end(), "gradient_norm");
  if (window.updates == 0 || column == columns.end()) return kNone;
  return window.sums[column - columns.begin()] / static_cast<double>(window.updates);
}

}  // namespace

Health examine(Trainer& trainer) {
  const Signs signs = trainer.learner().signs(trainer.counters());
  const double gamma = trainer.spec().learn.gamma;
  const RewardRange rewards = trainer.rewards();
  const double scale = gamma < 1 ? trainer.learner().reward_factor() / (1 - gamma) : kNone;
  Health health{.largest_q = signs.largest_value,
                .q_bound = (rewards.largest() + std::abs(signs.bonus)) * scale,
                .action_gap = signs.action_gap,
                .terminal_share = signs.terminal_share,
                .target_lag = signs.target_lag,
                .critic_bias = signs.critic_bias,
                .return_scale = signs.return_scale,
                .gradient_norm = mean_gradient_norm(trainer)};
  const double low = signs.value_min, high = signs.value_max;
  if (std::isfinite(low) && std::isfinite(high)) {
    const double margin = kEdge * (high - low), value = signs.best_value;
    const double max_return = rewards.highest * scale, min_return = rewards.lowest * scale;
    if (value > high - margin && max_return > high + margin) {
      health.beyond = max_return, health.end = high;
    }
    if (value < low + margin && min_return < low - margin) {
      health.beyond = min_return, health.end = low;
    }
    // Values start near the middle of the support and can never leave it.
    health.q_bound = std::max({std::abs(low), std::abs(high), health.q_bound});
  }
  return health;
}

std::uint32_t bad_signs(const Health& h, const TrainSpec& spec) {
  std::uint32_t bad = 0;
  const auto mark = [&](Sign sign, bool is_bad) {
    bad |= std::uint32_t{is_bad} << static_cast<int>(sign);
  };
  if (std::isnan(h.gradient_norm)) return 0;  // no updates yet
  // A new network may output anything while rewards are still unknown.
  mark(Sign::diverging, h.q_bound > 0 && h.largest_q > kMaxShareOfBound * h.q_bound + 1);
  mark(Sign::no_gap, h.largest_q > 1 && h.action_gap < kMinGap * h.largest_q);
  mark(Sign::no_terminals,
       !spec.algorithm->facts().on_policy && h.terminal_share < kMinTerminalShare);
  mark(Sign::target_lag, h.target_lag > kMaxLag);
  mark(Sign::gradient, h.gradient_norm > kMaxGradient);
  mark(Sign::support_edge, h.beyond != 0);
  mark(Sign::critic_bias, h.critic_bias > kMaxBias * h.return_scale + 1);
  return bad;
}

std::vector<std::string> watch(const Health& health, const TrainSpec& spec, std::int64_t env_steps,
                               HealthRecord& record) {
  std::uint32_t bad = bad_signs(health, spec);
  // If episodes never terminate in this environment, the sign does not apply.
  record.had_endings |= health.terminal_share >= kMinTerminalShare;
  if (!record.had_endings) bad &= ~(1u << static_cast<int>(Sign::no_terminals));
  const std::uint32_t raised = bad & record.bad & ~record.raised;
  record.bad = bad;
  record.raised |= raised;
  std::vector<std::string> warnings;
  for (int sign = 0; sign < kSignCount; ++sign) {
    if ((raised >> sign & 1) == 0) continue;
    warnings.push_back(fmt::format("at env step {}: {}", env_steps,
                                   describe(static_cast<Sign>(sign), health, spec)));
  }
  record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  return warnings;
}

}  // namespace hotloop
