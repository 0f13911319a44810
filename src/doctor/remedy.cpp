#include "doctor/remedy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "core/system.hpp"
#include "env/registry.hpp"
#include "net/lanes.hpp"
#include "net/optimiser.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

constexpr double kMinShare = 0.02;

// Collects the remedies to try, one rule after the other.
class Proposals {
  using Names = std::vector<std::string>;

 public:
  explicit Proposals(const Profile& profile) : p_(profile), s_(profile.spec) {}

  std::vector<Remedy> all() {
    same_results();
    less_learning();
    other_shapes();
    return std::move(remedies_);
  }

 private:
  double phase_share(std::string_view group, std::string_view part = "") const {
    return p_.share(group, part);
  }
  void add(std::string title, Names overrides, Names phases, bool same_result = false) {
    double share = 0;
    for (const std::string& name : phases) {
      const std::size_t slash = name.find('/');
      share += slash == std::string::npos
                   ? phase_share(name)
                   : phase_share(name.substr(0, slash), name.substr(slash + 1));
    }
    // Remedies that change training are compared without evaluations, see contest.hpp.
    if (!same_result) share /= std::max(1e-9, 1 - phase_share("evaluate"));
    if (share < kMinShare) return;
    remedies_.push_back({.title = std::move(title),
                         .overrides = std::move(overrides),
                         .phases = std::move(phases),
                         .share = share,
                         .same_result = same_result});
  }

  // Remedies that do not change any parameter.
  void same_results() {
    const EnvEntry& entry = find_env(s_.world());
    const std::vector<double> values = option_values(entry, s_.env_options);
    for (std::size_t i = 0; i < entry.options.size(); ++i) {
      const EnvOption& option = entry.options[i];
      const auto chosen = static_cast<std::size_t>(values[i]);
      for (std::size_t c = 0; c < option.choices.size() && option.is_speed; ++c) {
        if (c == chosen || option.choices[c].empty()) continue;
        add(fmt::format("{}: {} instead of {}", option.name, option.choices[c],
                        option.choices[chosen]),
            {fmt::format("env.options.{}={}", option.name, option.choices[c])}, {"env", "evaluate"},
            true);
      }
    }
    const RunOptions& run = s_.run;
    const int factor = phase_share("log") > 0.2 ? 100 : 10;
    add(fmt::format("log {} times less often", factor),
        {fmt::format("run.log_every={}", factor * run.log_every)}, {"log"}, true);
    if (run.episode_log) {
      add("no episode log", {"run.episode_log=false"}, {"log"}, true);
    }
    // If the run stops at the evaluation that solves it, rarer evaluations make it longer.
    if (s_.evaluation.every > 0 && !s_.evaluation.stop_when_solved) {
      add("evaluate a fifth as often",
          {fmt::format("evaluation.every={}", 5 * s_.evaluation.every)}, {"evaluate"}, true);
    }
    add("checkpoints a tenth as often",
        {fmt::format("run.checkpoint_seconds={}", std::max(1.0, 10 * run.checkpoint_seconds))},
        {"checkpoint"}, true);
    threads();
  }

  void threads() {
    if (s_.threads > 1) {
      add("one thread", {"run.threads=1"}, {"act", "env", "learn", "wait", "evaluate"}, true);
    } else if (usable_cores() > 1) {
      Names phases;
      if (s_.envs > kLanes) phases = {"act", "env"};
      const WorldFacts world = world_facts(s_.world());
      const Structure network = s_.algorithm->network(s_, world);
      TrainSpec two = s_;
      two.threads = 2;
      if (two.algorithm->work(two, world).shares_batches) {
        phases.push_back("learn");
      } else if (network.storage >= kMinSharedParameters) {
        phases.push_back("learn/optimiser");
      }
      if (s_.evaluation.episodes > kLanes) phases.push_back("evaluate");
      add("two threads", {"run.threads=2"}, phases, true);
    }
  }

  // Remedies that the algorithm proposes.
  void less_learning() {
    const auto share = [this](std::string_view group, std::string_view part) {
      return phase_share(group, part);
    };
    for (Proposal& proposal : s_.algorithm->remedies(s_, share)) {
      // A run that already has several threads keeps them.
      if (s_.threads > 1) std::erase(proposal.overrides, "run.threads=2");
      add(std::move(proposal.title), std::move(proposal.overrides), std::move(proposal.phases));
    }
  }

  void other_shapes() {
    const int more = 4 * s_.envs;
    std::vector<std::string> overrides = {fmt::format("env.count={}", more)};
    for (std::string& key : s_.algorithm->with_envs(s_, more)) overrides.push_back(std::move(key));
    add("four times the environments, same updates per step", overrides,
        {"act", "env", "memory/push"});

    std::vector<int> narrow = s_.net.hidden;
    for (int& width : narrow) width = std::max(8, width / 2);
    if (!narrow.empty() && narrow != s_.net.hidden) {
      add("hidden layers half as wide", {fmt::format("net.hidden=[{}]", fmt::join(narrow, ", "))},
          {"act/forward", "learn"});
    }
    const EnvEntry& entry = find_env(s_.world());
    const std::vector<double> values = option_values(entry, s_.env_options);
    for (std::size_t i = 0; i < entry.options.size(); ++i) {
      const EnvOption& option = entry.options[i];
      // Choices are ordered by how much they show; the previous one shows less.
      if (option.name != "obs" || !option.is_view || !(values[i] >= 1)) continue;
      const std::string_view less = option.choices[static_cast<std::size_t>(values[i]) - 1];
      add(fmt::format("observe {}", less), {fmt::format("env.options.obs={}", less)}, {"env"});
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
  std::stable_sort(remedies.begin(), remedies.end(), [](const Remedy& a, const Remedy& b) {
    return std::tie(a.same_result, a.share) > std::tie(b.same_result, b.share);
  });
  return remedies;
}

double share_of(const PhaseSeconds& seconds, const std::vector<std::string>& phases) {
  double all = 0, those = 0;
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    const std::string group(kPhases[i].group), name = group + "/" + std::string(kPhases[i].part);
    all += seconds[i];
    const bool counts = std::any_of(phases.begin(), phases.end(), [&](const std::string& phase) {
      return phase == group || phase == name;
    });
    if (counts) those += seconds[i];
  }
  return all > 0 ? those / all : 0;
}

double learnt_per_step(const TrainSpec& spec) {
  return spec.learn.updates_per_step * spec.learn.batch * spec.learn.accumulate;
}

std::string yaml_patch(const std::vector<std::string>& overrides) {
  // A tree of keys: "env.options.obs=flood" is env -> options -> obs. A later value replaces an
  // earlier one.
  struct Node {
    std::string key, value;
    std::vector<Node> children;
    Node& child(const std::string& name) {
      for (Node& node : children) {
        if (node.key == name) return node;
      }
      return children.emplace_back(Node{name, "", {}});
    }
    std::string text() const {
      if (children.empty()) return value;
      std::string inside;
      for (const Node& node : children) {
        inside += fmt::format("{}{}: {}", inside.empty() ? "" : ", ", node.key, node.text());
      }
      return "{" + inside + "}";
    }
  };
  Node root;
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    Node* node = &root;
    for (std::size_t begin = 0, end; begin < equals; begin = end + 1) {
      end = std::min(text.find('.', begin), equals);
      node = &node->child(text.substr(begin, end - begin));
    }
    node->value = text.substr(equals + 1);
  }
  std::string yaml;
  for (const Node& node : root.children) yaml += fmt::format("{}: {}\n", node.key, node.text());
  return yaml;
}

}  // namespace hotloop
