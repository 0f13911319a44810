// Rules for faults: the environment waits, steps become slower, the loop allocates, memory grows,
// threads wait for each other.
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

// The share of wall time in phases whose waiting is not the environment's fault: they wait for
// other threads or the disk.
double other_waiting(const Profile& p) {
  return p.share("wait") + p.share("evaluate") + p.share("log") + p.share("checkpoint");
}

// The duration of work that threads share, and the work of all threads in it, as shares of the time
// of a round. Medians over windows, because an interrupted thread looks busy.
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

// Share of random actions at the start and at the end of the profile.
std::pair<double, double> epsilons(const Profile& p) {
  const Schedule* random = p.spec.algorithm->random_actions(p.spec);
  if (random == nullptr) return {0, 0};
  return {random->at(p.warm_up), random->at(p.end())};
}

std::string advice_on_slowing(const Profile& p) {
  const std::string& because = p.trend.because;
  if (because.starts_with("env")) {
    return std::string(
               "Look in the environment for something that grows over time: a history that is "
               "searched or copied, a list that is never cleared. ") +
           (p.trend.longer_episodes
                ? "Episodes got longer too: perhaps only their later steps cost more, which is "
                  "expected."
                : "Episodes did not get longer, so costlier late steps are not the reason.");
  }
  if (because.starts_with("memory")) {
    return "A replay memory that fills up no longer fits into the caches. This slows steps down "
           "only up to a certain size; a smaller replay.capacity avoids it.";
  }
  return "The work of that phase is the same at every step, so look for something else that "
         "changed: the CPU clock, or values that became very small or non-finite.";
}

}  // namespace

void find_sleeping(const Profile& p, Findings& findings) {
  constexpr double kMinShare = 0.15;  // less is not worth reporting
  // For systems that do not report how long a thread waited for a CPU. On a busy machine the thread
  // loses the CPU, but does not sleep. An occasional log or checkpoint does sleep.
  constexpr double kMinSleeps = 0.1;
  const double env = p.share("env") + p.share("python");
  // The learner never sleeps, so the remaining waiting is in the environment.
  const double waiting = std::min(1 - p.cpu_share - p.queue_share - other_waiting(p), env);
  if (p.sleeps_per_step < kMinSleeps || !(waiting >= kMinShare)) return;
  const PhaseRow* step = find_row(p, "env", "step");
  findings.push_back(
      {.cause = Cause::sleeping,
       .share = waiting,
       .text =
           "The environment waits instead of computing: for a timer, a lock, a file or another "
           "process. Remove the wait from its step. If that is impossible, let the waits of "
           "several environments overlap, with env.count and run.threads well above the number of "
           "cores.",
       .evidence = fmt::format(
           "the training thread was on a CPU for {:.0f} % of the time and slept {:.2g} times per "
           "vector step; the environment takes {:.0f} %{}",
           percent(p.cpu_share), p.sleeps_per_step, percent(env),
           step == nullptr ? "" : fmt::format(", its step {:.3g} us (median)", step->p50_us))});
}

void find_slowing(const Profile& p, Findings& findings) {
  const Trend& t = p.trend;
  // If all phases change alike, or threads wait longer for each other, the machine is the cause.
  if (!t.slower || t.because.empty() || t.because == "wait") return;
  const double before = std::max(0.0, t.because_first), mean = 0.5 * (before + t.because_last);
  const double whole = 0.5 * (std::max(0.0, t.us_per_step.first) + t.us_per_step.last);
  const double rounds = rounds_share(p);
  Finding finding;
  finding.cause = Cause::slowing;
  finding.share = std::clamp(rounds * (mean - before) / whole, 0.0, 1.0);
  finding.evidence = fmt::format(
      "{} took {:.3g} us per step at first and {:.3g} at the end of {:.3g} s and {} steps; a whole "
      "step took {:.3g} and {:.3g}",
      t.because, before, t.because_last, p.wall_seconds, p.env_steps,
      std::max(0.0, t.us_per_step.first), t.us_per_step.last);
  constexpr double kFewerRandom = 0.05;  // of the actions, which the network now has to choose
  const auto [first, last] = epsilons(p);
  if (t.because.starts_with("act") && last < first - kFewerRandom) {
    finding.share = 0;
    finding.text = fmt::format(
        "Steps became slower because fewer actions are random ({:.0f} % at first, {:.0f} % now) "
        "and the network must choose the others. That is expected, and stops when algo.epsilon "
        "stops falling.",
        percent(first), percent(last));
  } else {
    finding.text =
        fmt::format("Steps become slower because of {}. {}", t.because, advice_on_slowing(p));
  }
  findings.push_back(finding);
}

void find_allocating(const Profile& p, Findings& findings) {
  constexpr double kMinPerStep = 0.01;
  constexpr double kMinTotal = 400;  // one allocation in a split round counts as up to 64
  if (std::isnan(p.allocations_per_step) || p.allocations_per_step < kMinPerStep) return;
  if (p.allocations_per_step * static_cast<double>(p.env_steps) < kMinTotal) return;
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
           in_env
               ? "The environment allocates heap memory while it steps. Use fixed-size arrays in "
                 "the world, or reserve the memory once."
               : "The hot loop allocates heap memory, which it should never do.",
       .evidence = fmt::format("{:.3g} allocations per env step, by phase: {}; these phases take "
                               "{:.0f} % of the time",
                               p.allocations_per_step, where, percent(share))});
}

// All memory of training, including the replay, is allocated and touched before the loop starts. It
// does not grow while the replay fills.
void find_growing_memory(const Profile& p, Findings& findings) {
  if (!p.trend.growing_memory) return;
  const Slope& s = p.trend.resident;
  findings.push_back(
      {.cause = Cause::growing_memory,
       .share = 0,
       .text =
           "Resident memory keeps growing. Training allocates its memory before it starts, so look "
           "in the environment for something that is never freed.",
       .evidence = fmt::format(
           "{:.1f} MiB at first, {:.1f} MiB at the end; in the second half {:.3g} "
           "bytes per env step (a stored transition has {:.0f}, allocated in advance)",
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
         .evidence = fmt::format("{} threads, which never shared any work", t.threads)});
    return;
  }
  constexpr double kMinShare = 0.02, kBusyMachine = 0.1;
  // Waking a thread takes 5 to 50 us. If pieces take longer, threads wait for other reasons.
  constexpr double kLargeWork = 200e-6;
  // Even if the other thread is awake, its data must travel to its core and back, which slows the
  // whole round: with pieces of 0.5 us, two threads had half the speed of one.
  constexpr double kSmallWork = 2e-6, kMinShared = 0.05;
  const Shared shared = shared_work(p);
  const PhaseRow* waits = find_row(p, "wait");  // one visit each time work is distributed
  if (waits == nullptr || waits->calls <= 0) return;
  const double rounds = rounds_share(p);
  const double seconds = rounds * p.wall_seconds * shared.work / waits->calls;
  const bool is_small = seconds < kSmallWork && shared.span * rounds >= kMinShared;
  // If the work of all threads together is less than its duration, one thread would have been
  // faster.
  const double saved = is_small ? shared.span * rounds : (shared.span - shared.work) * rounds;
  if (!(saved >= kMinShare) || seconds > kLargeWork) return;
  findings.push_back(
      {.cause = Cause::threads,
       .share = saved,
       .text = fmt::format(
           "The pieces of work are too small to share among {} threads: distributing them takes "
           "longer than doing them. Set run.threads: 1, or make the pieces larger: env.count, "
           "algo.batch, net.hidden.",
           t.threads),
       .evidence = fmt::format(
           "shared work took {:.0f} % of the time, {:.2g} us of work each time; all {} threads "
           "together were busy for {:.0f} % of its duration{}{}",
           percent(shared.span * rounds), 1e6 * seconds, t.threads,
           percent(shared.work / shared.span),
           shared.work < shared.span ? ", so one thread would have been faster" : "",
           p.queue_share < kBusyMachine
               ? ""
               : fmt::format("; but the machine was busy elsewhere: for {:.0f} % of the time the "
                             "training thread had no CPU",
                             percent(p.queue_share)))});
}

}  // namespace hotloop
