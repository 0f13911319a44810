#include "doctor/remedy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include <hotloop/error.hpp>

#include "env/registry.hpp"
#include "run/learner.hpp"

namespace hotloop {
namespace {

constexpr double kLeastShare = 0.02;

// Collects what could be tried, one rule after the other.
class Proposals {
 public:
  explicit Proposals(const Profile& profile) : p_(profile), s_(profile.spec) {}

  std::vector<Remedy> all() {
    same_results();
    s_.algorithm == Algorithm::dqn ? less_replay_learning() : less_rollout_learning();
    other_shapes();
    return std::move(remedies_);
  }

 private:
  double of(std::string_view group, std::string_view part = "") const {
    return p_.share(group, part);
  }
  double learning() const { return of("learn") + of("memory", "draw") + of("memory", "gather"); }
  double products() const {
    return of("act", "forward") + of("learn", "target") + of("learn", "forward") +
           of("learn", "backward") + of("learn", "optimiser");
  }
  void add(std::string title, std::vector<std::string> overrides, std::string aim, double share,
           bool same_result = false) {
    // What changes training is compared without evaluations: see contest.hpp.
    if (!same_result) share /= std::max(1e-9, 1 - of("evaluate"));
    if (share < kLeastShare) return;
    remedies_.push_back({.title = std::move(title),
                         .overrides = std::move(overrides),
                         .aim = std::move(aim),
                         .share = share,
                         .same_result = same_result});
  }

  // What leaves every parameter as it would have been.
  void same_results() {
    const EnvEntry& entry = find_env(s_.env);
    const std::vector<double> values = option_values(entry, s_.env_options);
    for (std::size_t i = 0; i < entry.options.size(); ++i) {
      const EnvOption& option = entry.options[i];
      const auto chosen = static_cast<std::size_t>(values[i]);
      for (std::size_t c = 0; c < option.choices.size() && option.is_speed; ++c) {
        if (c == chosen || option.choices[c].empty()) continue;
        add(fmt::format("{} by {} instead of {}", option.name, option.choices[c],
                        option.choices[chosen]),
            {fmt::format("env.options.{}={}", option.name, option.choices[c])}, "env", of("env"),
            true);
      }
    }
    const RunOptions& run = s_.run;
    add("log a tenth as often", {fmt::format("run.log_every={}", 10 * run.log_every)}, "log",
        of("log"), true);
    if (run.episode_log) {
      add("no line for every episode", {"run.episode_log=false"}, "log", of("log"), true);
    }
    if (s_.evaluation.every > 0) {
      add("evaluate a fifth as often",
          {fmt::format("evaluation.every={}", 5 * s_.evaluation.every)}, "evaluate", of("evaluate"),
          true);
    }
    add("checkpoints a tenth as often",
        {fmt::format("run.checkpoint_seconds={}", std::max(1.0, 10 * run.checkpoint_seconds))},
        "checkpoint", of("checkpoint"), true);
    threads();
  }

  void threads() {
    if (s_.run.threads > 1) {
      // All of the team's time may go if its work is small; what it did must still be done.
      double busy = 0;
      for (const double share : p_.threads.busy) busy += share;
      const double saved = p_.threads.span_seconds * (1 - std::min(1.0, busy)) / p_.wall_seconds;
      add("one thread", {"run.threads=1"}, "threads", std::max({saved, of("wait"), kLeastShare}),
          true);
    } else if (std::thread::hardware_concurrency() > 1) {
      const bool many_rows = s_.envs > 32, large_batch = s_.q.batch > 128;
      const double parallel =
          (many_rows ? of("act") + of("env") : 0) +
          (large_batch ? of("learn") - of("learn", "clip") - of("learn", "optimiser") : 0);
      add("two threads", {"run.threads=2"}, "act, env, learn", parallel, true);
    }
  }

  void less_replay_learning() {
    const QOptions& q = s_.q;
    add("a quarter of the updates",
        {fmt::format("algo.updates_per_step={}", q.updates_per_step / 4)}, "learn, memory",
        learning());
    if (q.batch >= 2) {
      add("half the batch", {fmt::format("algo.batch={}", q.batch / 2)}, "learn, memory",
          learning());
    }
    add("twice the batch, half the updates",
        {fmt::format("algo.batch={}", 2 * q.batch),
         fmt::format("algo.updates_per_step={}", q.updates_per_step / 2)},
        "learn, memory", learning());
    add("rounds four times as long, updates drawn together",
        {fmt::format("algo.train_every={}", 4 * q.train_every)}, "memory",
        of("memory", "draw") + of("memory", "gather"));
    if (q.prioritised) {
      add("uniform replay", {"replay.prioritised=false"}, "memory", of("memory", "draw"));
    }
    if (q.double_q) {
      add("no Double", {"algo.double=false"}, "learn/target", of("learn", "target"));
    }
  }

  void less_rollout_learning() {
    const QOptions& q = s_.q;
    if (q.epochs > 1) {
      add("half the epochs", {fmt::format("algo.epochs={}", q.epochs / 2)}, "learn", of("learn"));
    }
    add("twice the batch, half the updates", {fmt::format("algo.batch={}", 2 * q.batch)}, "learn",
        of("learn"));
  }

  void other_shapes() {
    const int more = 4 * s_.envs;
    std::vector<std::string> overrides = {fmt::format("env.count={}", more)};
    if (s_.algorithm == Algorithm::dqn) {
      const std::int64_t rounds = (s_.q.train_every + more - 1) / more;
      overrides.push_back(fmt::format("algo.train_every={}", rounds * more));
    } else {
      overrides.push_back(fmt::format("algo.rollout={}", std::max(1, s_.q.rollout / 4)));
    }
    add("four times the environments, as many updates per step", overrides, "act, env, push",
        of("act") + of("env") + of("memory", "push"));

    std::vector<int> narrow = s_.net.hidden;
    for (int& width : narrow) width = std::max(8, width / 2);
    if (!narrow.empty() && narrow != s_.net.hidden) {
      add("hidden layers half as wide", {fmt::format("net.hidden=[{}]", fmt::join(narrow, ", "))},
          "act/forward, learn", products());
    }
    const EnvEntry& entry = find_env(s_.env);
    const std::vector<double> values = option_values(entry, s_.env_options);
    for (std::size_t i = 0; i < entry.options.size(); ++i) {
      const EnvOption& option = entry.options[i];
      // Choices stand in the order of what they show; the one before shows less.
      if (option.name != "obs" || !option.is_view || !(values[i] >= 1)) continue;
      const std::string_view less = option.choices[static_cast<std::size_t>(values[i]) - 1];
      add(fmt::format("observe {}", less), {fmt::format("env.options.obs={}", less)}, "env/observe",
          of("env", "observe"));
    }
  }

  const Profile& p_;
  const TrainSpec& s_;
  std::vector<Remedy> remedies_;
};

}  // namespace

std::vector<Remedy> propose(const Profile& profile, const SpecSource& source) {
  std::vector<Remedy> remedies = Proposals(profile).all();
  std::erase_if(remedies, [&](const Remedy& remedy) {
    try {
      check_feasible(source(remedy.overrides));
      return false;
    } catch (const UsageError&) {
      return true;
    }
  });
  std::stable_sort(remedies.begin(), remedies.end(),
                   [](const Remedy& a, const Remedy& b) { return a.share > b.share; });
  return remedies;
}

double learnt_per_step(const TrainSpec& spec) {
  return spec.q.updates_per_step * spec.q.batch * spec.q.accumulate;
}

std::string yaml_patch(const std::vector<std::string>& overrides) {
  // Groups in the order in which they first appear; two levels are enough for what is proposed.
  std::vector<std::string> order;
  std::map<std::string, std::string> groups;
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('='), dot = text.rfind('.', equals);
    const std::string group = text.substr(0, dot);
    if (groups.find(group) == groups.end()) order.push_back(group);
    std::string& keys = groups[group];
    keys += fmt::format("{}{}: {}", keys.empty() ? "" : ", ",
                        text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1));
  }
  std::string yaml;
  for (const std::string& group : order) {
    const std::size_t dot = group.find('.');
    if (dot == std::string::npos) {
      yaml += fmt::format("{}: {{{}}}\n", group, groups[group]);
    } else {
      yaml += fmt::format("{}: {{{}: {{{}}}}}\n", group.substr(0, dot), group.substr(dot + 1),
                          groups[group]);
    }
  }
  return yaml;
}

}  // namespace hotloop
