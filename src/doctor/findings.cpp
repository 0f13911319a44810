#include "doctor/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doctor/rules.hpp"

namespace hotloop {
namespace {

void find_longer_episodes(const Profile& p, Findings& findings) {
  if (!p.trend.longer_episodes) return;
  const Slope& s = p.trend.episode_length;
  const Slope& time = p.trend.us_per_step;
  std::string text =
      fmt::format("Episodes got longer, from {:.3g} to {:.3g} steps. ", s.first, s.last);
  text += p.trend.slower
              ? "Steps became slower as well, which is a separate problem."
              : "Fewer of them end per second, but nothing became slower: a step costs the same.";
  findings.push_back({.cause = Cause::longer_episodes,
                      .share = 0,
                      .text = text,
                      .evidence = fmt::format(
                          "{} episodes in {} steps; a step took {:.3g} us at first and {:.3g} at "
                          "the end",
                          p.episodes, p.env_steps, time.first, time.last)});
}

// The health of learning in figures.
std::string figures(const Profile& p) {
  const Health& h = p.health;
  const std::int64_t steps = p.end().env_steps;
  std::string text = fmt::format("after {} steps", steps);
  if (steps > p.spec.run.steps) text += fmt::format(" (the run would end at {})", p.spec.run.steps);
  const auto add = [&](std::string_view what, double value) {
    if (!std::isnan(value)) text += fmt::format(", {} {:.3g}", what, value);
  };
  add("largest |Q|", h.largest_q);
  add("bound", h.q_bound);
  add("action gap", h.action_gap);
  add("terminal share", h.terminal_share);
  add("target lag", h.target_lag);
  add("gradient norm", h.gradient_norm);
  return text;
}

// Describes the largest part of the two groups.
std::string largest_part(const Profile& p, std::string_view a, std::string_view b) {
  const PhaseRow* largest = nullptr;
  for (const PhaseRow& row : p.phases) {
    if ((row.group != a && row.group != b) || row.part.empty()) continue;
    if (largest == nullptr || row.share > largest->share) largest = &row;
  }
  if (largest == nullptr) return "";
  std::string text =
      fmt::format("; its largest part is {}, {:.0f} % of the time, {:.3g} us per step",
                  largest->name(), percent(largest->share), largest->us_per_step);
  if (!std::isnan(largest->peak_share)) {
    text += fmt::format(", at {:.0f} % of the core's peak", percent(largest->peak_share));
  }
  return text;
}

// Reports where the time goes, even if nothing is wrong.
void find_bounds(const Profile& p, Findings& findings) {
  constexpr double kMajority = 0.5;
  const double env = p.share("env"), learner = p.share("learn") + p.share("memory");
  const double python = p.share("python");
  if (python >= kMajority) {
    findings.push_back(
        {.cause = Cause::env_bound,
         .share = python,
         .text =
             "The Python environment takes most of the time: a faster learner would change little. "
             "What would help is a faster step, or the same environment as a C++ file "
             "(docs/environments.md).",
         .evidence = fmt::format("python takes {:.0f} %, {:.3g} us per env step", percent(python),
                                 find_row(p, "python", "")->us_per_step)});
  }
  if (env >= kMajority) {
    findings.push_back({.cause = Cause::env_bound,
                        .share = env,
                        .text = fmt::format(
                            "The environment takes most of the time: a faster learner would change "
                            "little. A faster step would help{}.",
                            p.threads.threads > 1 ? "" : ", and perhaps more run.threads"),
                        .evidence = fmt::format("env takes {:.0f} %{}", percent(env),
                                                largest_part(p, "env", "env"))});
  }
  if (learner >= kMajority) {
    findings.push_back(
        {.cause = Cause::learner_bound,
         .share = learner,
         .text =
             "Learning takes most of the time: a faster environment would change little. A smaller "
             "net.hidden, a smaller algo.batch or fewer updates would help, but they change what "
             "is learnt.",
         .evidence = fmt::format("learn and memory take {:.0f} %{}", percent(learner),
                                 largest_part(p, "learn", "memory"))});
  }
}

// Lower comes first.
int rank(const Finding& finding) {
  switch (finding.cause) {
    case Cause::failure:
      return 0;
    case Cause::slowing:
      return finding.share > 0 ? 1 : 4;  // without a share it is only a note
    case Cause::health:
    case Cause::early_greed:
      return 2;
    case Cause::longer_episodes:
      return 3;
    case Cause::env_bound:
    case Cause::learner_bound:
      return 5;
    default:
      return 1;
  }
}

}  // namespace

const PhaseRow* find_row(const Profile& profile, std::string_view group, std::string_view part) {
  const auto row =
      std::find_if(profile.phases.begin(), profile.phases.end(),
                   [&](const PhaseRow& r) { return r.group == group && r.part == part; });
  return row == profile.phases.end() ? nullptr : &*row;
}

std::vector<Finding> find_causes(const Profile& p) {
  Findings findings;
  if (!p.failure.empty()) {
    findings.push_back({.cause = Cause::failure,
                        .share = 0,
                        .text = "Training failed. All other findings are about the time before the "
                                "failure.",
                        .evidence = p.failure});
  }
  if (p.wall_seconds > 0 && p.env_steps > 0) {
    for (const auto rule :
         {find_sleeping, find_slowing, find_allocating, find_growing_memory, find_threads,
          find_logging, find_evaluating, find_checkpointing, find_many_updates, find_slow_option,
          find_early_greed, find_longer_episodes, find_bounds}) {
      rule(p, findings);
    }
  }
  for (const std::string& warning : p.warnings) {
    findings.push_back(
        {.cause = Cause::health, .share = 0, .text = warning, .evidence = figures(p)});
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.share > b.share;
  });
  return findings;
}

}  // namespace hotloop
