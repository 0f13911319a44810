#include "record/graph_report.hpp"

#include "core/json.hpp"
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

Json describe_graph(const Graph& graph) {
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
                      {"clustering", number_or_null(m.clustering)},
                      {"path_length", number_or_null(m.path_length)},
                      {"sigma", number_or_null(m.sigma)},
                      {"omega", number_or_null(m.omega)},
                      {"communities", m.communities},
                      {"modularity", number_or_null(m.modularity)}}}};
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
