#include "graph/graph_metrics.hpp"

#include <algorithm>
#include <limits>

#include "graph/hidden_edges.hpp"
#include "graph/undirected.hpp"

namespace hotloop {
namespace {

constexpr int kRandomGraphs = 10;
constexpr std::uint64_t kRandomSeed = 47;

std::vector<Edge> hidden_edges_of(const Graph& graph) {
  std::vector<Edge> edges;
  for (int n = graph.inputs; n < graph.nodes - graph.outputs; ++n) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      const int source = graph.sources[e];
      if (!graph.is_input(source)) edges.push_back({source - graph.inputs, n - graph.inputs});
    }
  }
  return edges;
}

std::vector<Edge> chain(int nodes, std::size_t count) {
  std::vector<Edge> edges;
  for (int distance = 1; distance < nodes; ++distance) {
    for (int n = 0; n + distance < nodes && edges.size() < count; ++n) {
      edges.push_back({n, n + distance});
    }
  }
  return edges;
}

double ratio(double a, double b) {
  return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a / b;
}

void measure_levels(const Graph& graph, GraphMetrics& metrics) {
  const std::vector<int> levels = levels_of(graph);
  metrics.depth = *std::max_element(levels.begin(), levels.end());
  metrics.widths.assign(metrics.depth + 1, 0);
  for (const int level : levels) ++metrics.widths[level];
}

}  // namespace

GraphMetrics graph_metrics(const Graph& graph) {
  GraphMetrics metrics;
  const std::vector<Edge> edges = hidden_edges_of(graph);
  metrics.nodes = graph.nodes;
  metrics.edges = graph.edges();
  metrics.hidden_edges = static_cast<int>(edges.size());
  measure_levels(graph, metrics);

  const Neighbours hidden = neighbours_of(graph.hidden(), edges);
  metrics.clustering = clustering(hidden);
  metrics.path_length = mean_path_length(hidden);

  NumpyRandom random(kRandomSeed);
  for (int i = 0; i < kRandomGraphs; ++i) {
    const Neighbours reference =
        neighbours_of(graph.hidden(), uniform_edges(graph.hidden(), metrics.hidden_edges, random));
    metrics.random_clustering += clustering(reference) / kRandomGraphs;
    metrics.random_path_length += mean_path_length(reference) / kRandomGraphs;
  }
  metrics.lattice_clustering =
      clustering(neighbours_of(graph.hidden(), chain(graph.hidden(), edges.size())));
  metrics.sigma = ratio(ratio(metrics.clustering, metrics.random_clustering),
                        ratio(metrics.path_length, metrics.random_path_length));
  metrics.omega = ratio(metrics.random_path_length, metrics.path_length) -
                  ratio(metrics.clustering, metrics.lattice_clustering);

  const std::vector<int> community = communities(hidden);
  metrics.communities =
      community.empty() ? 0 : *std::max_element(community.begin(), community.end()) + 1;
  metrics.modularity = modularity(hidden, community);
  return metrics;
}

}  // namespace hotloop
