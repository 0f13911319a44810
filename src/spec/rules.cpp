// Checks combinations of keys that are each in range: those that make no sense with any algorithm.
// Each algorithm adds its own checks.
#include <fmt/format.h>

#include <algorithm>

#include "algo/common/algorithm.hpp"
#include "algo/common/rounds.hpp"
#include "core/text.hpp"
#include "spec/keys.hpp"

namespace hotloop {
namespace {

class Checker {
 public:
  explicit Checker(const TrainSpec& spec) : spec_(spec) {}

  std::vector<Violation> run() {
    check_run();
    spec_.algorithm->check(spec_, violations_);
    check_network();
    check_graph();
    const Schedule& rate = spec_.optimiser.learning_rate;
    violations_.check_schedule("optimiser.learning_rate", rate);
    if (rate == constant(0)) blame("optimiser.learning_rate", "is 0: the run would never learn");
    return violations_.found();
  }

 private:
  void blame(std::string_view path, std::string text) { violations_.blame(path, std::move(text)); }

  void check_run() {
    const LearningOptions& learn = spec_.learn;
    const std::string& name = spec_.name;
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) {
      blame("name", fmt::format("\"{}\" cannot name a folder", printable(name)));
    } else if (printable(name, name.size()) != name) {
      blame("name", fmt::format("\"{}\": control characters and bytes that are not UTF-8 are not "
                                "allowed",
                                printable(name)));
    }
    if (learn.learning_starts > spec_.run.steps) {
      blame("algo.learning_starts",
            fmt::format("{} is more than run.steps ({}): the run would never learn",
                        learn.learning_starts, spec_.run.steps));
    } else if (learn.updates_per_step > 0 && learn.train_every > 0 &&
               declared_updates(spec_, spec_.run.steps) == 0) {
      blame("run.steps",
            fmt::format(
                "{} end before the first update, so the run would never learn; a round has {} "
                "env steps ({}) and {:g} updates{}",
                spec_.run.steps, learn.train_every,
                spec_.algorithm->facts().on_policy ? "algo.n_steps times env.count"
                                                   : "algo.train_every",
                static_cast<double>(learn.train_every) * learn.updates_per_step,
                learn.learning_starts > 0
                    ? fmt::format(", after the first {} steps (algo.learning_starts)",
                                  learn.learning_starts)
                    : ""));
    }
    if (spec_.evaluation.stop_when_solved && spec_.evaluation.every == 0) {
      blame("evaluation.stop_when_solved",
            "needs evaluation.every above 0: nothing is evaluated before the end");
    }
  }

  void check_network() {
    check_actor_critic();
    if (!spec_.net.branches.empty() && !spec_.net.channels.empty()) {
      blame("net.channels", "cannot be combined with net.branches; choose one of them");
    }
    for (const Branch& branch : spec_.net.branches) {
      const bool forest = std::any_of(branch.layers.begin(), branch.layers.end(),
                                      [](const auto& word) { return word.starts_with("forest"); });
      if (forest && spec_.learn.normalise_obs) {
        blame("algo.normalise.obs",
              "cannot be combined with a forest: its observations hold indices of parent nodes");
      }
    }
    if (spec_.net.dueling && !spec_.net.dueling_hidden.empty() && spec_.net.layer_norm) {
      blame("net.dueling_hidden", "cannot be combined with net.layer_norm; choose one of them");
    }
    if (spec_.net.layer_norm && spec_.net.hidden.empty() &&
        spec_.net.graph.kind == GraphKind::none) {
      blame("net.layer_norm", "normalises hidden layers, but net.hidden is empty");
    }
  }

  void check_actor_critic() {
    if (!spec_.net.value_from.empty() && spec_.net.branches.empty()) {
      blame("net.value_from", "needs net.branches; without branches, use net.separate");
    }
    if (spec_.net.graph.kind != GraphKind::none && spec_.net.separate) {
      blame("net.separate",
            "cannot be combined with net.graph: one graph computes policy and values");
    }
  }

  void check_graph() {
    const NetOptions& net = spec_.net;
    if (net.graph.kind == GraphKind::none) {
      if (net.init == Initialiser::small_world) {
        blame("net.init", "small_world is for graphs; give net.graph.kind, or choose another");
      }
      return;
    }
    const auto without_graph = [&](bool given, std::string_view path) {
      if (given) blame(path, "cannot be combined with net.graph: a graph has no layers");
    };
    without_graph(net.layer_norm, "net.layer_norm");
    without_graph(net.noisy != Noisy::none, "net.noisy");
    without_graph(!net.dueling_hidden.empty(), "net.dueling_hidden");
    without_graph(!net.channels.empty(), "net.channels");
    without_graph(!net.branches.empty(), "net.branches");
    if (net.graph.kind == GraphKind::edges && net.graph.edges.empty()) {
      blame("net.graph.edges", "missing; kind edges needs it or net.graph.file");
    }
  }

  const TrainSpec& spec_;
  Violations violations_;
};

}  // namespace

std::vector<Violation> spec_violations(const TrainSpec& spec) { return Checker(spec).run(); }

}  // namespace hotloop
