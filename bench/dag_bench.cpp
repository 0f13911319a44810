// hotloop bench dag: graphs of neurons on one thread, of the sizes that the topology DQN uses and
// one larger. `update` is a complete DQN update: draw, gather, target forward, forward, loss,
// backward, clip, Adam. The slow twin uses dictionaries and takes one sample at a time.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "bench/bench_learner.hpp"
#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "reference/dag.hpp"

namespace hotloop::bench {
namespace {

struct Contest {
  BenchLearner learner;
  const DagLayer& layer = std::get<DagLayer>(learner.structure.layers[0]);
  Plan plan{learner.structure};
  Workspace workspace;
  std::vector<float> rows;  // [batch, inputs]
  reference::Dag<float> slow;

  Contest(const NetOptions& net, int batch)
      : learner({{4, 2}, batch}, {}, net, 50'000),
        workspace(learner.structure, batch, Use::inference),
        slow(layer, learner.dqn.online()) {
    Rng rng(1, Purpose::test, 3, 0);
    for (int i = 0; i < 4 * batch; ++i) rows.push_back(static_cast<float>(rng.normal()));
  }

  void forward() {
    hotloop::forward(plan, learner.dqn.online(), rows.data(), learner.spec.learn.batch, workspace);
  }
  void slow_forward() { slow.forward({rows.begin(), rows.begin() + 4}); }
};

}  // namespace

Json dag_benchmark() {
  const std::vector<GraphOptions> graphs = {
      {.kind = GraphKind::small_world, .hidden = {32}, .degree = 9, .rewire = 0.2},
      {.kind = GraphKind::small_world, .hidden = {64}, .degree = 8, .rewire = 0.1},
      {.kind = GraphKind::small_world, .hidden = {194}, .degree = 20, .rewire = 0.2},
      {.kind = GraphKind::small_world, .hidden = {264}, .degree = 40, .rewire = 0.2},
      {.kind = GraphKind::small_world, .hidden = {1994}, .degree = 40, .rewire = 0.2}};
  Json rows = Json::array();
  for (const GraphOptions& graph : graphs) {
    for (const int batch : {1, 32, 64, 256}) {
      const NetOptions net{.activation = Activation::leaky_relu, .graph = graph};
      const auto contest = std::make_shared<Contest>(net, batch);
      Measurement measurement;
      measurement.add("forward", [contest] { contest->forward(); });
      measurement.add("update", [contest] { contest->learner.update(); });
      measurement.add("slow", [contest] { contest->slow_forward(); });
      const auto times = measurement.run(9, 0.01);
      const double forward_us = times.at("forward").median_us;
      const Graph& drawn = *contest->layer.graph;
      rows.push_back({{"name", fmt::format("{} neurons b{}", drawn.nodes, batch)},
                      {"nodes", drawn.nodes},
                      {"edges", drawn.edges()},
                      {"batch", batch},
                      {"forward_us", forward_us},
                      {"update_us", times.at("update").median_us},
                      {"edge_samples_per_second", drawn.edges() * (batch * 1e6 / forward_us)},
                      {"speedup", times.at("slow").median_us * batch / forward_us},
                      {"spread", times.at("forward").spread}});
    }
  }
  return rows;
}

}  // namespace hotloop::bench
