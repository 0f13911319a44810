#include "graph/graph_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/hidden_edges.hpp"
#include "graph/undirected.hpp"

namespace hotloop {
namespace {

constexpr int kRandomGraphs = 10;
constexpr std::uint64_t kRandomSeed = 47;

// The work of all searches on one graph, in neurons and edges visited. More than the first limit is
// too much to be exact; estimates keep to the second one as long as there are enough sources.
constexpr std::int64_t kMaxExactWork = 10'000'000, kMaxSampledWork = 30'000'000;
constexpr std::int64_t kMinSources = 16, kMaxSources = 256;
constexpr int kSampledPairs = 100'000;  // of neighbours

// The number of searches on a graph of this size; 0 = from every neuron.
int sampled_sources(std::int64_t neurons, std::int64_t edges) {
  const std::int64_t work = neurons + 2 * edges;  // of one search
  if (neurons * work <= kMaxExactWork) return 0;
  const std::int64_t sources = std::clamp(kMaxSampledWork / work, kMinSources, kMaxSources);
  return static_cast<int>(std::min(sources, neurons));
}

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

// Exactly.
void measure(const Neighbours& hidden, const Neighbours& lattice, GraphMetrics& metrics) {
  const int neurons = static_cast<int>(hidden.size());
  metrics.clustering = clustering(hidden);
  metrics.path_length = mean_path_length(hidden);
  NumpyRandom random(kRandomSeed);
  for (int i = 0; i < kRandomGraphs; ++i) {
    const Neighbours reference =
        neighbours_of(neurons, uniform_edges(neurons, metrics.hidden_edges, random));
    metrics.random_clustering += clustering(reference) / kRandomGraphs;
    metrics.random_path_length += mean_path_length(reference) / kRandomGraphs;
  }
  metrics.lattice_clustering = clustering(lattice);
}

// The expected clustering of a graph of uniformly drawn edges, given its degrees: the edges that do
// not touch a neuron are distributed uniformly over the pairs that do not contain it, and so over
// the pairs of its neighbours.
double expected_clustering(const Neighbours& reference, double edges) {
  const auto neurons = static_cast<double>(reference.size());
  const double pairs = (neurons - 1) * (neurons - 2) / 2;
  double sum = 0;
  for (const std::vector<int>& list : reference) {
    if (list.size() >= 2) sum += (edges - static_cast<double>(list.size())) / pairs;
  }
  return sum / neurons;
}

// From samples, and compared with only one random graph.
void estimate(const Neighbours& hidden, const Neighbours& lattice, GraphMetrics& metrics) {
  const int neurons = static_cast<int>(hidden.size());
  NumpyRandom random(kRandomSeed);
  metrics.clustering = estimated_clustering(hidden, metrics.sampled_pairs, random);
  metrics.path_length = estimated_path_length(hidden, metrics.sampled_sources, random);
  const Neighbours reference =
      neighbours_of(neurons, few_uniform_edges(neurons, metrics.hidden_edges, random));
  metrics.random_clustering = expected_clustering(reference, metrics.hidden_edges);
  metrics.random_path_length = estimated_path_length(reference, metrics.sampled_sources, random);
  metrics.lattice_clustering = estimated_clustering(lattice, metrics.sampled_pairs, random);
}

}  // namespace

GraphMetrics graph_metrics(const Graph& graph) {
  GraphMetrics metrics;
  const std::vector<Edge> edges = hidden_edges_of(graph);
  metrics.nodes = graph.nodes;
  metrics.edges = graph.edges();
  metrics.hidden_edges = static_cast<int>(edges.size());
  measure_levels(graph, metrics);

  const int neurons = graph.hidden();
  metrics.sampled_sources = sampled_sources(neurons, std::ssize(edges));
  metrics.sampled_pairs = metrics.sampled_sources > 0 ? kSampledPairs : 0;
  const Neighbours hidden = neighbours_of(neurons, edges);
  const Neighbours lattice = neighbours_of(neurons, chain(neurons, edges.size()));
  metrics.sampled_sources > 0 ? estimate(hidden, lattice, metrics)
                              : measure(hidden, lattice, metrics);
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

std::string estimated_from(const GraphMetrics& metrics) {
  if (metrics.sampled_sources == 0) return "";
  return fmt::format("{} sources and {} pairs of neighbours", metrics.sampled_sources,
                     metrics.sampled_pairs);
}

}  // namespace hotloop
