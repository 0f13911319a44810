// Faults: the environment waits, steps become slower, the loop allocates, memory grows, threads wait for
// each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "algo/common/algorithm.hpp"
#include "core/statistics.hpp"
#include "doctor/rules.hpp"

namespace hotloop {
namespace {

// The share of wall time in phases where waiting is no fault of the environment: for other threads, for
// the disk.
double excused(const Profile& p) {
  return p.share("wait") + p.share("evaluate") + p.share("log") + p.share("checkpoint");
}

// Work that threads share, and what all of them did in it: shares of the time of a round. Medians over
// windows, since a thread that is interrupted at work looks busy.
struct Shared {
  double span = 0, work = 0;
};
Shared shared_work(const Profile& p) {
  const auto rounds = [](const Sample& s) {
    const auto end = s.phases.begin() + static_cast<std::ptrdiff_t>(Phase::evaluate);
    return std::accumulate(s.phases.begin(), end, 0.0) * s.split_scale;
  };
  std::vector<double> spans, works;
  for (std::size_t i = 1; i < p.samples.size(); ++i) {
    const Sample &a = p.samples[i - 1], &b = p.samples[i];
    const double time = rounds(b) - rounds(a);
    if (time <= 0) continue;
    spans.push_back((b.team_span - a.team_span) / time);
    works.push_back((b.team_work - a.team_work) / time);
  }
  return {.span = quantile(spans, 0.5), .work = quantile(works, 0.5)};
}

double rounds_share(const Profile& p) {
  return 1 - p.share("evaluate") - p.share("log") - p.share("checkpoint");
}

// Share of random actions when the profile began, and when it ended.
std::pair<double, double> epsilons(const Profile& p) {
  const Schedule* random = p.spec.algorithm->random_actions(p.spec);
  if (random == nullptr) return {0, 0};
  const Schedule& epsilon = *random;
  return {epsilon.at({.env_steps = p.warm_up_steps}),
          epsilon.at({.env_steps = p.warm_up_steps + p.env_steps,
                      .updates = p.updates,
                      .episodes = p.episodes})};
}

std::string advice_on_slowing(const Profile& p) {
  const std::string& because = p.trend.because;
  if (because.starts_with("env")) {
    return std::string(
               "Look in the environment for what grows with time: a history that is searched or "
               "copied, a list that is never emptied. ") +
           (p.trend.longer_episodes
                ? "Episodes got longer too: perhaps it is only their later steps "
                  "that cost more, which is no fault."
                : "Episodes are no longer than they were, so it is not that their "
                  "later steps cost more.");
  }
  if (because.starts_with("memory")) {
    return "A memory that fills leaves the caches, which costs up to a certain size and no more; a "
           "smaller replay.capacity avoids it.";
  }
  return "The work of that phase is the same at every step, so look for what else changed: the "
         "clock "
         "of the CPU, or values that have become very small or not finite.";
}

}  // namespace

void find_sleeping(const Profile& p, Findings& findings) {
  constexpr double kMinShare = 0.15;  // less is not worth a word
  // Where the system does not say how long a thread waited for a CPU: a busy machine takes the CPU away,
  // but then nobody gave it up. One log or checkpoint in many steps does.
  constexpr double kMinSleeps = 0.1;
  const double env = p.share("env") + p.share("python");
  // The learner never sleeps, so what is left of the time happens in the environment.
  const double waiting = std::min(1 - p.cpu_share - p.queue_share - excused(p), env);
  if (p.sleeps_per_step < kMinSleeps || !(waiting >= kMinShare)) return;
  const PhaseRow* step = find_row(p, "env", "step");
  findings.push_back(
      {.cause = Cause::sleeping,
       .share = waiting,
       .text =
           "The environment waits instead of computing: for a timer, a lock, a file or another "
           "process. Take the wait out of its step; if it must be, let the waits of several "
           "environments overlap, with env.count and run.threads well above the number of cores.",
       .evidence = fmt::format(
           "the training thread was on a CPU for {:.0f} % of the time and gave it up by itself "
           "{:.2g} "
           "times per vector step; the environment takes {:.0f} %{}",
           percent(p.cpu_share), p.sleeps_per_step, percent(env),
           step == nullptr ? "" : fmt::format(", its step {:.3g} us (median)", step->p50_us))});
}

void find_slowing(const Profile& p, Findings& findings) {
  const Trend& t = p.trend;
  // Where all phases change alike, or threads wait longer for each other, it is the machine.
  if (!t.slower || t.because.empty() || t.because == "wait") return;
  const double before = std::max(0.0, t.because_first), mean = 0.5 * (before + t.because_last);
  const double whole = 0.5 * (std::max(0.0, t.us_per_step.first) + t.us_per_step.last);
  const double rounds = rounds_share(p);
  Finding finding;
  finding.cause = Cause::slowing;
  finding.share = std::clamp(rounds * (mean - before) / whole, 0.0, 1.0);
  finding.evidence = fmt::format(
      "{} took {:.3g} us per step at first and {:.3g} at the end of {:.3g} s and {} steps, a whole "
      "step {:.3g} and {:.3g}",
      t.because, before, t.because_last, p.wall_seconds, p.env_steps,
      std::max(0.0, t.us_per_step.first), t.us_per_step.last);
  constexpr double kFewerRandom = 0.05;  // of the actions: what the network must do for them is new
  const auto [first, last] = epsilons(p);
  if (t.because.starts_with("act") && last < first - kFewerRandom) {
    finding.share = 0;
    finding.text = fmt::format(
        "Steps became slower because fewer actions are random ({:.0f} % at first, {:.0f} % now) "
        "and "
        "the network must choose the others. That is no fault, and ends with algo.epsilon.",
        percent(first), percent(last));
  } else {
    finding.text = fmt::format("Steps become slower, and it is {} that does. {}", t.because,
                               advice_on_slowing(p));
  }
  findings.push_back(finding);
}

void find_allocating(const Profile& p, Findings& findings) {
  constexpr double kMinPerStep = 0.01;
  constexpr double kMinInAll = 400;  // one in a round that was split stands for up to 64
  if (std::isnan(p.allocations_per_step) || p.allocations_per_step < kMinPerStep) return;
  if (p.allocations_per_step * static_cast<double>(p.env_steps) < kMinInAll) return;
  std::string where;
  double share = 0;
  for (const PhaseRow& row : p.phases) {
    const bool is_leaf = !row.part.empty() || row.group == "wait";
    if (!is_leaf || row.allocations_per_step < 0.1 * p.allocations_per_step) continue;
    where +=
        fmt::format("{}{} {:.2g}", where.empty() ? "" : ", ", row.name(), row.allocations_per_step);
    share += row.share;
  }
  const bool in_env = where.starts_with("env");
  findings.push_back(
      {.cause = Cause::allocating,
       .share = share,
       .text =
           in_env ? "The environment takes memory from the heap while it steps. Keep what it needs "
                    "as arrays of fixed size in the world, or reserve it once."
                  : "Memory is taken from the heap in the hot loop, which should take none.",
       .evidence = fmt::format("{:.3g} allocations per env step, by phase: {}; these phases take "
                               "{:.0f} % of the time",
                               p.allocations_per_step, where, percent(share))});
}

// All memory of training is taken and touched before the loop starts, a replay memory's too: it does not
// grow while it fills.
void find_growing_memory(const Profile& p, Findings& findings) {
  if (!p.trend.growing_memory) return;
  const Slope& s = p.trend.resident;
  findings.push_back(
      {.cause = Cause::growing_memory,
       .share = 0,
       .text =
           "Resident memory grows all the time. The memory of training is taken before it begins, "
           "so look in the environment for something that is never freed.",
       .evidence = fmt::format(
           "{:.1f} MiB at first, {:.1f} MiB at the end; in the second half {:.3g} "
           "bytes per env step (a transition in memory has {:.0f}, taken at once)",
           static_cast<double>(p.resident_begin) / 0x1p20,
           static_cast<double>(p.resident_end) / 0x1p20, s.per_x, p.bytes_per_transition)});
}

void find_threads(const Profile& p, Findings& findings) {
  const ThreadUse& t = p.threads;
  if (t.threads <= 1) return;
  if (t.runs <= 0 || t.busy.empty()) {
    findings.push_back(
        {.cause = Cause::threads,
         .share = 0,
         .text = "There is never work for more than one thread. run.threads: 1 is as "
                 "fast; more environments (env.count) or larger batches (algo.batch) "
                 "would give the others something to do.",
         .evidence = fmt::format("{} threads, and nothing was handed out to them", t.threads)});
    return;
  }
  constexpr double kMinShare = 0.02, kBusyMachine = 0.1;
  // Waking a thread takes 5 to 50 us. Where pieces take longer, threads wait for other reasons.
  constexpr double kLargeWork = 200e-6;
  // Even where the other thread is awake, what it works on must come to its core and back, which makes
  // all of a round slower: with 0.5 us at a time, two threads had half the speed of one.
  constexpr double kSmallWork = 2e-6, kMinShared = 0.05;
  const Shared shared = shared_work(p);
  const PhaseRow* waits = find_row(p, "wait");  // one visit for each time that work was handed out
  if (waits == nullptr || waits->calls <= 0) return;
  const double rounds = rounds_share(p);
  const double seconds = rounds * p.wall_seconds * shared.work / waits->calls;
  const bool is_small = seconds < kSmallWork && shared.span * rounds >= kMinShared;
  // If all the work of all threads together is less than the time it took, one would have been faster.
  const double saved = is_small ? shared.span * rounds : (shared.span - shared.work) * rounds;
  if (!(saved >= kMinShare) || seconds > kLargeWork) return;
  findings.push_back(
      {.cause = Cause::threads,
       .share = saved,
       .text = fmt::format(
           "The pieces of work are too small to share among {} threads: handing them out takes "
           "longer "
           "than doing them. Set run.threads: 1, or give the threads more at a time: env.count, "
           "algo.batch, a larger net.hidden.",
           t.threads),
       .evidence = fmt::format(
           "shared work took {:.0f} % of the time, {:.2g} us of work each time; in it all {} "
           "threads together were busy for "
           "{:.0f} % of its duration{}{}",
           percent(shared.span * rounds), 1e6 * seconds, t.threads,
           percent(shared.work / shared.span),
           shared.work < shared.span ? ", so one alone would have needed less" : "",
           p.queue_share < kBusyMachine
               ? ""
               : fmt::format("; but the machine was busy elsewhere: for {:.0f} % of the time there "
                             "was no CPU for the training thread",
                             percent(p.queue_share)))});
}

}  // namespace hotloop
