// hotloop bench durotaxis: colonies held at one size by the fixed rule (half of the cells go, the others
// spawn), on one thread: the world alone, acting in it with the network of specs/durotaxis.yaml, and learning
// from 64 graphs; then what the original's owners made faster, each against a slow twin of it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "algo/policy.hpp"
#include "algo/returns.hpp"
#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "env/batch_env.hpp"
#include "envs/durotaxis_world.hpp"
#include "reference/gae.hpp"
#include "reference/policy.hpp"
#include "run/evaluation.hpp"
#include "run/ppo_learner.hpp"

namespace hotloop::bench {
namespace {

constexpr int kGraphs = 64;  // of a minibatch, and colonies side by side
// The original on one such core, with its image backbone, which ours does not have.
constexpr double kOriginalStepUs = 81e3, kOriginalUpdateUs = 2.0e6;

struct Colonies {
  TrainSpec spec;
  BatchEnv env;
  PpoLearner learner;
  ThreadTeam team{1};
  Counters counters{};
  Window window{};
  Actions rule, ignored;
  int script;

  static TrainSpec make_spec(int cells, int epochs) {
    const std::vector<std::string> overrides = {fmt::format("env.options.cells={}", cells),
                                                fmt::format("env.count={}", kGraphs),
                                                "algo.rollout=1",
                                                fmt::format("algo.batch={}", kGraphs),
                                                fmt::format("algo.epochs={}", epochs),
                                                "optimiser.learning_rate=0"};
    return load_spec("durotaxis", overrides);
  }
  Colonies(int cells, int epochs)
      : spec(make_spec(cells, epochs)),
        env(make_worlds(spec.world(), kGraphs), kGraphs, 1, Purpose::world),
        learner(spec),
        rule(env.spec(), kGraphs),
        ignored(env.spec(), kGraphs),
        script(script_number("fixed", spec.world())) {
    env.reset();
    learner.begin(env.obs(), env.mask());
  }
  void step() {
    choose_by_script(script, env, rule);
    env.step(rule, team);
  }
  void act_and_step() {
    learner.act(env.obs(), env.mask(), env.steps(), counters, team, ignored);
    step();
  }
  void learn() {
    act_and_step();
    learner.push(latest_transitions(env, rule), counters);
    ++counters.train_events;
    learner.learn({counters, window, team});
  }
};

Json row(const std::string& name, int cells, double per_second, double us, double twin_us,
         double original_us = 0) {
  const auto number = [](double x) { return x > 0 ? Json(x) : Json(nullptr); };
  return {{"name", name},
          {"cells", cells},
          {"env_steps_per_second", number(per_second)},
          {"us", us},
          {"slow_twin_us", number(twin_us)},
          {"times_slow_twin", number(twin_us / us)},
          {"original_us", number(original_us)},
          {"times_original", number(original_us / us)}};
}

void add_colonies(Json& rows) {
  for (const int cells : {6, 20, 50, 100}) {  // five become six with the first step
    // A rollout of one vector step: what several epochs take longer than one is updates alone.
    constexpr int kMore = 4;
    auto colonies = std::make_shared<Colonies>(cells, 1);
    auto diligent = std::make_shared<Colonies>(cells, 1 + kMore);
    Measurement measurement;
    measurement.add("step", [colonies] { colonies->step(); });
    measurement.add("act", [colonies] { colonies->act_and_step(); });
    measurement.add("learn", [colonies] { colonies->learn(); });
    measurement.add("learn more", [diligent] { diligent->learn(); });
    const auto times = measurement.run(9, 0.05);
    const double step = times.at("step").median_us / kGraphs;
    const double act = times.at("act").median_us / kGraphs;
    const double update = (times.at("learn more").median_us - times.at("learn").median_us) / kMore;
    rows.push_back(row("env", cells, 1e6 / step, step, 0));
    rows.push_back(row("env_and_network", cells, 1e6 / act, act, 0, kOriginalStepUs));
    rows.push_back(row("update_64_graphs", cells, 0, update, 0, kOriginalUpdateUs));
  }
}

// The leftmost half by a full sort of pairs.
void add_selection(Json& rows) {
  constexpr int kCells = 100;
  Rng rng(1, Purpose::test, 0, 0);
  std::vector<float> x(kCells);
  for (float& value : x) value = static_cast<float>(rng.uniform(0, 600));
  auto chosen = std::make_shared<std::vector<std::uint8_t>>(kCells);
  Measurement measurement;
  measurement.add("fast", [=] {
    std::fill(chosen->begin(), chosen->end(), std::uint8_t{0});
    durotaxis_leftmost(x, kCells / 2, chosen->data());
  });
  measurement.add("slow", [=] {
    std::vector<std::pair<float, int>> order;
    for (int i = 0; i < kCells; ++i) order.emplace_back(x[i], i);
    std::sort(order.begin(), order.end());
    std::fill(chosen->begin(), chosen->end(), std::uint8_t{0});
    for (int i = 0; i < kCells / 2; ++i) (*chosen)[order[i].second] = 1;
  });
  const auto times = measurement.run();
  rows.push_back(
      row("selection", kCells, 0, times.at("fast").median_us, times.at("slow").median_us));
}

// 64 policies of five dimensions; the twin takes 16 samples of each.
void add_entropy(Json& rows) {
  struct alignas(64) Policies {
    std::array<float, 11 * kLanes> values{};
  };
  const PolicyHead head{.kind = PolicyKind::gaussian, .actions = 5, .low = {}, .high = {}};
  auto lanes = std::make_shared<Policies>();
  Measurement measurement;
  measurement.add("fast", [=] {
    for (int block = 0; block < 2; ++block)
      entropy(head, lanes->values.data(), kLanes, lanes->values.data() + 10 * kLanes);
  });
  measurement.add("slow", [=] {
    const reference::Policy policy{.head = head, .outputs = std::vector<double>(10)};
    Rng rng(1, Purpose::test, 0, 0);
    double sum = 0;
    for (int i = 0; i < 64; ++i) sum += reference::sampled_entropy(policy, 16, rng).mean;
    lanes->values[10 * kLanes] = static_cast<float>(sum);
  });
  const auto times = measurement.run();
  rows.push_back(row("entropy", 0, 0, times.at("fast").median_us, times.at("slow").median_us));
}

// 64 steps of 32 environments.
void add_gae(Json& rows) {
  constexpr int kSteps = 64, kEnvs = 32, kAll = kSteps * kEnvs;
  auto returns = std::make_shared<std::vector<float>>(kAll);
  const std::vector<float> ones(kAll, 1);
  std::vector<std::uint8_t> ended(kAll), never(kAll);
  for (int i = 0; i < kAll; i += 37) ended[i] = 1;
  Measurement measurement;
  measurement.add("fast", [=] {
    lambda_returns(kSteps, kEnvs, 0.99, 0.95, ones, 1, ended, never, ones, *returns);
  });
  measurement.add("slow", [=] {
    for (int lane = 0; lane < kEnvs; ++lane) {
      std::vector<reference::GaeStep> list;
      for (int i = lane; i < kAll; i += kEnvs) list.push_back({1, 1, 1, ended[i] != 0, false});
      const std::vector<double> advantages = reference::gae(list, 0.99, 0.95);
      for (int t = 0; t < kSteps; ++t)
        (*returns)[t * kEnvs + lane] = static_cast<float>(advantages[t]);
    }
  });
  const auto times = measurement.run();
  rows.push_back(row("gae", 0, 0, times.at("fast").median_us, times.at("slow").median_us));
}

// A step's record, made and added to the episode's: a struct, or a dictionary copied from a template.
void add_record(Json& rows) {
  using Dictionary = std::unordered_map<std::string, double>;
  Dictionary empty;
  for (const char* key :
       {"total_reward", "graph_reward", "spawn_reward", "delete_reward",
        "deletion_efficiency_reward", "edge_reward", "centroid_reward", "milestone_reward",
        "node_rewards", "total_node_reward", "survival_reward", "empty_graph_recovery_penalty",
        "termination_reward", "num_nodes"}) {
    empty[key] = 0;
  }
  auto sums = std::make_shared<DurotaxisReward>();
  auto dictionary = std::make_shared<Dictionary>(empty);
  Measurement measurement;
  measurement.add("fast", [=] {
    DurotaxisReward reward;
    reward.total = reward.graph = sums->node + 1;
    *sums += reward;
  });
  measurement.add("slow", [=] {
    Dictionary reward = empty;
    reward["total_reward"] = reward["graph_reward"] = (*dictionary)["num_nodes"] + 1;
    for (const auto& [key, value] : reward) (*dictionary)[key] += value;
  });
  const auto times = measurement.run();
  rows.push_back(
      row("reward_record", 0, 0, times.at("fast").median_us, times.at("slow").median_us));
}

}  // namespace

Json durotaxis_benchmark() {
  Json rows = Json::array();
  add_colonies(rows);
  add_selection(rows);
  add_entropy(rows);
  add_gae(rows);
  add_record(rows);
  return rows;
}

}  // namespace hotloop::bench
