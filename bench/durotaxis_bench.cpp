// hotloop bench durotaxis: colonies kept at one size by the fixed rule (half of the cells are
// deleted, the others spawn), on one thread: the environment alone, acting with the network of
// specs/durotaxis.yaml, and learning from 64 graphs; then the optimisations of the original's
// authors, each against its slow twin.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "algo/ppo/learner.hpp"
#include "bench/benchmarks.hpp"
#include "bench/claims.hpp"
#include "bench/measure.hpp"
#include "env/batch_env.hpp"
#include "evaluate/evaluation.hpp"

namespace hotloop::bench {
namespace {

constexpr int kGraphs = 64;  // per minibatch; also the number of parallel colonies
// The original on one core of this kind, with its image backbone, which ours does not have.
constexpr double kOriginalStepUs = 81e3, kOriginalUpdateUs = 2.0e6;
constexpr double kUpdatesPerStep = 4.0 / kGraphs;  // four epochs, in the original and in our spec

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
    const std::vector<std::string> overrides = {
        fmt::format("env.options.cells={}", cells), fmt::format("env.count={}", kGraphs),
        "algo.n_steps=1", fmt::format("algo.batch={}", kGraphs),
        fmt::format("algo.n_epochs={}", epochs)};
    TrainSpec spec = load_spec("durotaxis", overrides);
    spec.optimiser.learning_rate = constant(0);  // not allowed in spec files
    return spec;
  }
  Colonies(int cells, int epochs)
      : spec(make_spec(cells, epochs)),
        env(make_worlds(spec.world(), kGraphs), kGraphs, 1, Purpose::world),
        learner(spec, world_facts(spec.world()), spec.run.seed),
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
  for (const int cells : {6, 20, 50, 100}) {  // five become six in the first step
    // With rollouts of one vector step, additional epochs cost only their updates.
    constexpr int kMoreEpochs = 4;
    auto colonies = std::make_shared<Colonies>(cells, 1);
    auto more_epochs = std::make_shared<Colonies>(cells, 1 + kMoreEpochs);
    Measurement measurement;
    measurement.add("step", [colonies] { colonies->step(); });
    measurement.add("act", [colonies] { colonies->act_and_step(); });
    measurement.add("learn", [colonies] { colonies->learn(); });
    measurement.add("learn more", [more_epochs] { more_epochs->learn(); });
    const auto times = measurement.run(9, 0.05);
    const double step = times.at("step").median_us / kGraphs;
    const double act = times.at("act").median_us / kGraphs;
    const double update =
        (times.at("learn more").median_us - times.at("learn").median_us) / kMoreEpochs;
    rows.push_back(row("env", cells, 1e6 / step, step, 0));
    rows.push_back(row("env_and_network", cells, 1e6 / act, act, 0, kOriginalStepUs));
    rows.push_back(row("update_64_graphs", cells, 0, update, 0, kOriginalUpdateUs));
    const double both = act + kUpdatesPerStep * update;
    rows.push_back(row("acting_and_learning", cells, 1e6 / both, both, 0,
                       kOriginalStepUs + kUpdatesPerStep * kOriginalUpdateUs));
  }
}

void add_claims(Json& rows) {
  constexpr std::array<std::pair<const char*, int>, 4> kRows = {
      {{"selection", 100}, {"entropy", 0}, {"gae", 0}, {"reward_record", 0}}};
  const std::vector<Claim> claims = durotaxis_claims();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Measurement measurement;
    measurement.add("fast", claims[i].fast);
    measurement.add("slow", claims[i].slow);
    const auto times = measurement.run();
    const auto [name, cells] = kRows[i];
    rows.push_back(row(name, cells, 0, times.at("fast").median_us, times.at("slow").median_us));
  }
}

}  // namespace

Json durotaxis_benchmark() {
  Json rows = Json::array();
  add_colonies(rows);
  add_claims(rows);
  return rows;
}

}  // namespace hotloop::bench
