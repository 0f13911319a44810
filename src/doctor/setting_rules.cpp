// Rules for settings that cost more than they help: logs, evaluations and checkpoints too often,
// too many updates, exploration that ends too early.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algo/common/algorithm.hpp"
#include "doctor/rules.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

// A periodic task. Its share of a short profile depends on how often it happens to run there, so
// the share is computed from the cost of one run and the time between runs.
struct PeriodicTask {
  double cost = 0;    // seconds per run
  double period = 0;  // seconds between runs

  double share() const { return cost / (cost + period); }
  // By what factor the period must grow to reach the target share.
  double factor_for(double target) const { return cost * (1 - target) / (target * period); }
};

// A task that runs every n env steps, at the end of a round.
PeriodicTask by_steps(const Profile& p, const PhaseRow& row, std::int64_t every, double count) {
  const auto interval = static_cast<double>(std::max(every, p.spec.learn.train_every));
  const double per_step =
      (p.wall_seconds - row.seconds) / static_cast<double>(std::max<std::int64_t>(1, p.env_steps));
  return {.cost = row.seconds / count, .period = interval * per_step};
}

// The next number in the sequence 1, 2, 5, 10, 20, ...
double round_up(double x) {
  const double ten = std::pow(10, std::floor(std::log10(x)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (x <= digit * ten * (1 + 1e-9)) return digit * ten;
  }
  return 10 * ten;
}

}  // namespace

void find_logging(const Profile& p, Findings& findings) {
  constexpr double kTooMuch = 0.1, kTarget = 0.02;
  const PhaseRow* row = find_row(p, "log");
  if (row == nullptr || row->calls <= 0) return;
  const auto round = static_cast<double>(std::max(p.spec.run.log_every, p.spec.learn.train_every));
  // The episode log is also written in this phase, more often.
  const double steps = static_cast<double>(p.env_steps);
  const double count = p.spec.run.episode_log ? std::max(1.0, steps / round) : row->calls;
  const PeriodicTask task = by_steps(p, *row, p.spec.run.log_every, count);
  if (task.share() < kTooMuch) return;
  const double better = round_up(round * task.factor_for(kTarget));
  findings.push_back(
      {.cause = Cause::logging,
       .share = task.share(),
       .text =
           fmt::format("Logging takes {:.0f} % of the time. With run.log_every: {:.0f} (now {}) it "
                       "would take less than {:.0f} %{}.",
                       percent(task.share()), better, p.spec.run.log_every, percent(kTarget),
                       p.spec.run.episode_log ? "; run.episode_log is part of it" : ""),
       .evidence =
           fmt::format("{:.0f} rows of metrics, {:.3g} us each, one every {:.3g} us of other "
                       "work",
                       count, 1e6 * task.cost, 1e6 * task.period)});
}

void find_evaluating(const Profile& p, Findings& findings) {
  constexpr double kTooMuch = 0.25, kTarget = 0.05;
  const PhaseRow* row = find_row(p, "evaluate");
  if (row == nullptr || row->calls <= 0) return;
  const PeriodicTask task = by_steps(p, *row, p.spec.evaluation.every, row->calls);
  if (task.share() < kTooMuch) return;
  const auto now = static_cast<double>(std::max(p.spec.evaluation.every, p.spec.learn.train_every));
  const double better = round_up(now * task.factor_for(kTarget));
  findings.push_back(
      {.cause = Cause::evaluating,
       .share = task.share(),
       .text = fmt::format(
           "Evaluation takes {:.0f} % of the time. With evaluation.every: {:.0f} (now {}) it would "
           "take less than {:.0f} %; fewer evaluation.episodes (now {}) make it cheaper but "
           "noisier.{}",
           percent(task.share()), better, p.spec.evaluation.every, percent(kTarget),
           p.spec.evaluation.episodes,
           p.spec.evaluation.stop_when_solved
               ? " But evaluation also ends the run (evaluation.stop_when_solved): if it is rarer, "
                 "the run ends later."
               : ""),
       .evidence = fmt::format(
           "{:.0f} evaluations of {} episodes, {:.3g} ms each, one every {:.3g} ms "
           "of training",
           row->calls, p.spec.evaluation.episodes, 1e3 * task.cost, 1e3 * task.period)});
}

void find_checkpointing(const Profile& p, Findings& findings) {
  constexpr double kTooMuch = 0.1, kTarget = 0.02;
  const PhaseRow* row = find_row(p, "checkpoint");
  if (row == nullptr || row->calls <= 0) return;
  // A checkpoint and its models are two visits. A snapshot is one visit, and depends on episodes.
  const bool has_snapshots = p.spec.run.snapshot_every > 0;
  const double count = std::max(1.0, has_snapshots ? row->calls : row->calls / 2);
  const double rest = std::max(1e-9, p.wall_seconds - row->seconds);
  const PeriodicTask task{.cost = row->seconds / count,
                          .period = has_snapshots
                                        ? rest / count
                                        : std::max(rest / count, p.spec.run.checkpoint_seconds)};
  if (task.share() < kTooMuch) return;
  const double better = round_up(task.period * task.factor_for(kTarget));
  findings.push_back(
      {.cause = Cause::checkpointing,
       .share = task.share(),
       .text = fmt::format(
           "Saving takes {:.0f} % of the time. With run.checkpoint_seconds: {:g} (now "
           "{:g}) it would take less than {:.0f} %{}.",
           percent(task.share()), better, p.spec.run.checkpoint_seconds, percent(kTarget),
           has_snapshots ? fmt::format("; or take snapshots less often than "
                                       "run.snapshot_every: {}",
                                       p.spec.run.snapshot_every)
                         : ""),
       .evidence = fmt::format("{:.0f} times, {:.3g} ms each, one every {:.3g} ms of other work",
                               count, 1e3 * task.cost, 1e3 * task.period)});
}

void find_many_updates(const Profile& p, Findings& findings) {
  // Usual ratios are at most 1. Methods that reuse data most heavily, with countermeasures for
  // its effect on the values, use 10 and more.
  constexpr double kMany = 4;
  constexpr double kMinShareOfRounds = 0.8;
  const double ratio =
      static_cast<double>(p.updates) / static_cast<double>(std::max<std::int64_t>(1, p.env_steps));
  const double learning = p.share("learn") + p.share("memory");
  const double rounds = 1 - p.share("evaluate") - p.share("log") - p.share("checkpoint");
  if (ratio < kMany || learning < kMinShareOfRounds * rounds) return;
  findings.push_back(
      {.cause = Cause::many_updates,
       .share = learning,
       .text = fmt::format(
           "There are {:.3g} updates per env step, and hardly anything else happens. A smaller {} "
           "makes steps faster, but learns less from each. Only training runs can show whether it "
           "learns more per second.",
           ratio, p.spec.algorithm->updates_key()),
       .evidence =
           fmt::format("{} updates on {} env steps; learning and memory take {:.0f} % of the "
                       "time",
                       p.updates, p.env_steps, percent(learning))});
}

// An option that changes only the speed defaults to its fastest choice, so a slower one was set
// explicitly.
void find_slow_option(const Profile& p, Findings& findings) {
  constexpr double kWorthIt = 0.05;
  if (p.share("env") < kWorthIt) return;
  const EnvEntry& entry = find_env(p.spec.world());
  const std::vector<double> values = option_values(entry, p.spec.env_options);
  const PhaseRow* observe = find_row(p, "env", "observe");
  for (std::size_t i = 0; i < entry.options.size(); ++i) {
    const EnvOption& option = entry.options[i];
    if (!option.is_speed || values[i] == option.initial) continue;
    const auto choice = [&](double value) {
      return option.choices[static_cast<std::size_t>(value)];
    };
    findings.push_back(
        {.cause = Cause::slow_option,
         .share = p.share("env"),
         .text = fmt::format("env.{0}: {1} gives the same numbers as {2}, which is faster. Try "
                             "env.{0}={2}.",
                             option.name, choice(values[i]), choice(option.initial)),
         .evidence = fmt::format("env takes {:.0f} % of the time, observing alone {:.0f} %",
                                 percent(p.share("env")),
                                 percent(observe != nullptr ? observe->share : 0))});
  }
}

void find_early_greed(const Profile& p, Findings& findings) {
  // Share of the run. The ready-made specs that learn fastest stop exploring after 2 % of theirs.
  constexpr double kEarly = 0.01;
  constexpr double kGreedy = 0.1;  // share of random actions
  const LearningOptions& learn = p.spec.learn;
  const Schedule* random = p.spec.algorithm->random_actions(p.spec);
  if (random == nullptr) return;
  const Schedule& epsilon = *random;
  if (p.spec.net.noisy != Noisy::none) return;                             // noise explores
  if (epsilon.kind == ScheduleKind::constant && epsilon.from > 0) return;  // deliberate, never ends
  if (epsilon.kind == ScheduleKind::wave) return;                          // comes back
  const double length =
      static_cast<double>(p.env_steps) / static_cast<double>(std::max<std::int64_t>(1, p.episodes));
  const double whole = p.spec.run.steps < kNoLimit
                           ? static_cast<double>(p.spec.run.steps)
                           : length * static_cast<double>(p.spec.run.episodes);
  const auto starts = static_cast<double>(learn.learning_starts);
  const double early = std::max(starts, kEarly * whole);
  const double share =
      epsilon.at({.env_steps = static_cast<std::int64_t>(early),
                  .updates = static_cast<std::int64_t>((early - starts) * learn.updates_per_step),
                  .episodes = static_cast<std::int64_t>(early / length)});
  if (share > kGreedy) return;
  findings.push_back(
      {.cause = Cause::early_greed,
       .share = 0,
       .text =
           "Exploration ends before much is learnt, and states not seen by then may never be seen. "
           "Let algo.epsilon fall over a larger part of the run (its key over, or factor and "
           "every).",
       .evidence = fmt::format("{:.2g} % of the actions are random after {:.0f} steps of {:.3g}; "
                               "learning begins after {} (algo.learning_starts)",
                               percent(share), early, whole, learn.learning_starts)});
}

}  // namespace hotloop
