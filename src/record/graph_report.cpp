#include "record/graph_report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/graph_metrics.hpp"

namespace hotloop {

namespace {
constexpr int kMaxListedEdges = 200'000;
}  // namespace

const DagLayer* graph_of(const Structure& structure) {
  for (const Layer& layer : structure.layers) {
    if (const auto* dag = std::get_if<DagLayer>(&layer)) return dag;
  }
  return nullptr;
}

nlohmann::ordered_json describe_graph(const Graph& graph) {
  using Json = nlohmann::ordered_json;
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  const GraphMetrics m = graph_metrics(graph);
  Json described = {{"inputs", graph.inputs},
                    {"hidden", graph.hidden()},
                    {"outputs", graph.outputs},
                    {"metrics",
                     {{"nodes", m.nodes},
                      {"edges", m.edges},
                      {"hidden_edges", m.hidden_edges},
                      {"depth", m.depth},
                      {"widths", m.widths},
                      {"clustering", number(m.clustering)},
                      {"path_length", number(m.path_length)},
                      {"sigma", number(m.sigma)},
                      {"omega", number(m.omega)},
                      {"communities", m.communities},
                      {"modularity", number(m.modularity)}}}};
  if (const std::string from = estimated_from(m); !from.empty())
    described["metrics"]["estimated_from"] = from;
  if (graph.edges() > kMaxListedEdges) return described;
  Json edges = Json::array();
  for (int node = graph.inputs; node < graph.nodes; ++node) {
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
      edges.push_back({graph.sources[e], node});
    }
  }
  described["order"] = graph.order;
  described["edges"] = std::move(edges);
  return described;
}

}  // namespace hotloop
