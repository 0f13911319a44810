#include "profile/words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "algo/common/algorithm.hpp"
#include "core/text.hpp"

namespace hotloop {
namespace {

// Three digits where possible, so that columns are easy to scan.
std::string figure(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  if (std::abs(value) < 0.0005) return "<0.001";
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
}

std::string percent(double share, std::string_view unit = " %") {
  return std::isfinite(share) ? fmt::format("{:.1f}{}", 100 * share, unit) : "-";
}

std::string plural(double count, std::string_view noun) {
  return fmt::format("{:.0f} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string measured(const Profile& p) {
  const double per_step =
      static_cast<double>(p.updates) / static_cast<double>(std::max<std::int64_t>(1, p.env_steps));
  return fmt::format("{:.2f} s: {} env steps/s, {} updates/s, {:.4g} updates per step; {} episodes",
                     p.wall_seconds, short_number(p.steps_per_second()),
                     short_number(p.updates_per_second()), per_step,
                     short_number(static_cast<double>(p.episodes)));
}

// Empty if the profile did not run past the end of the spec.
std::string past_end(const Profile& p) {
  const Progress end = p.end();
  if (end.env_steps > p.spec.run.steps) {
    return fmt::format("the spec itself ends after {} env steps", p.spec.run.steps);
  }
  if (p.spec.run.episodes > 0 && end.episodes > p.spec.run.episodes) {
    return fmt::format("the spec itself ends after {} episodes", p.spec.run.episodes);
  }
  return "";
}

std::string thread_words(const ThreadUse& t) {
  std::string busy;
  for (const double share : t.busy) busy += (busy.empty() ? "" : ", ") + percent(share);
  if (busy.empty()) return fmt::format("{}, but they shared no work", t.threads);
  return fmt::format(
      "{}, busy {} of the {:.2f} s of shared work; the busiest is {} above the mean; the first "
      "thread waits {} of the time",
      t.threads, busy, t.span_seconds, percent(t.imbalance), percent(t.wait_share));
}

std::string episode_words(const Trend& t) {
  const Slope& s = t.episode_length;
  const std::string change = fmt::format("from {:.3g} to {:.3g} steps", s.first, s.last);
  const std::string_view steps = t.slower   ? "steps got slower too"
                                 : t.faster ? "steps got faster"
                                            : "steps did not get slower";
  if (t.longer_episodes) return fmt::format("got longer, {}; {}", change, steps);
  return t.slower ? "did not get longer; steps got slower" : "";
}

}  // namespace

PhaseCells phase_cells(const Profile& profile, const PhaseRow& row) {
  const bool counted = std::isfinite(profile.allocations_per_step);
  return {figure(row.us_per_step),
          figure(row.us_per_update),
          percent(row.share),
          short_number(std::round(row.calls)),
          figure(row.p50_us),
          figure(row.p99_us),
          figure(row.gflops),
          percent(row.peak_share, ""),
          figure(row.gigabytes_per_second),
          counted ? figure(row.allocations_per_step) : "-"};
}

std::string profile_title(const Profile& profile) {
  return fmt::format("{}, seed {}: where the time goes", profile.spec.name, profile.spec.run.seed);
}

std::vector<NamedLine> lines_above(const Profile& p) {
  std::vector<NamedLine> lines = {
      {"algorithm",
       fmt::format("{} on {} x {}, batch {}, {}",
                   p.spec.algorithm->describe(p.spec) +
                       (p.spec.learn.pipelined ? " (sequential in this profile)" : ""),
                   p.spec.envs, p.spec.env, p.spec.learn.batch, plural(p.spec.threads, "thread"))},
      {"network", p.network},
      {"CPU", p.cpu},
      {"measured", measured(p)}};
  if (!p.learnt) lines.push_back({"no learning", "there was no update in the profile"});
  if (p.warm_up_seconds > 0) {
    lines.push_back(
        {"excluded", fmt::format("{:.2g} s of collecting {} steps before the first update",
                                 p.warm_up_seconds, p.warm_up.env_steps)});
  }
  if (const std::string end = past_end(p); !end.empty()) lines.push_back({"past end", end});
  return lines;
}

std::vector<NamedLine> lines_below(const Profile& p) {
  std::vector<NamedLine> lines = {
      {"accounted", percent(1 - p.unaccounted_share) + " of wall time"},
      {"peak", fmt::format("{:.0f} GFLOP/s, measured: multiply-adds in registers, one core",
                           p.peak_gflops)},
      {"allocations", std::isfinite(p.allocations_per_step)
                          ? figure(p.allocations_per_step) + " per env step, in training rounds"
                          : "not counted in this build"},
      {"memory",
       fmt::format("{:.1f} -> {:.1f} MiB resident{}; {:.4g} bytes per transition",
                   static_cast<double>(p.resident_begin) / 0x1p20,
                   static_cast<double>(p.resident_end) / 0x1p20,
                   p.trend.growing_memory ? ", and growing" : "", p.bytes_per_transition)}};
  if (p.threads.threads > 1) lines.push_back({"threads", thread_words(p.threads)});
  lines.push_back(
      {"on the CPU", fmt::format("{} of the time; the thread slept {} times per vector step",
                                 percent(p.cpu_share), figure(p.sleeps_per_step))});
  lines.push_back({"throughput", p.trend.text});
  if (const std::string words = episode_words(p.trend); !words.empty()) {
    lines.push_back({"episodes", words});
  }
  for (const std::string& warning : p.warnings) lines.push_back({"warning", warning});
  if (!p.failure.empty()) lines.push_back({"failure", "training failed: " + p.failure});
  return lines;
}

}  // namespace hotloop
