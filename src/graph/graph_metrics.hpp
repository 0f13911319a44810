// Metrics of a graph: its size and depth, and how close its hidden neurons are to a small world.
//
// Clustering C, mean path length L and modularity are those of the hidden neurons and the edges
// between them, without directions. They are compared with two references with the same number of
// neurons and edges:
//   random   the average of ten graphs whose edges are drawn uniformly, always the same ten
//            (large graphs: one)
//   lattice  a chain: edges between all neurons 1 apart, then all 2 apart, … until used up
//
//   sigma = (C / C_random) / (L / L_random)  above 1: a small world (Humphries and Gurney 2008)
//   omega = L_random / L - C / C_lattice     near 0: a small world, towards -1 a lattice, towards
//                                            1 random (Telesford and others 2011)
//
// In large graphs C and L are estimated from samples, always the same ones, so that the metrics of
// any graph take about a second at most. `estimated_from` says so.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace hotloop {

struct GraphMetrics {
  int nodes = 0;
  int edges = 0;
  int hidden_edges = 0;
  int depth = 0;            // edges on the longest path
  std::vector<int> widths;  // [depth + 1]: number of neurons per level (levels_of)
  double clustering = 0;    // C
  double path_length = 0;   // L, over connected pairs; NaN without hidden edges
  double random_clustering = 0;
  double random_path_length = 0;
  double lattice_clustering = 0;
  double sigma = 0;       // NaN where a divisor is 0: graphs too sparse for triangles
  double omega = 0;       // likewise
  int communities = 0;    // found by the Louvain method
  double modularity = 0;  // of those communities

  int sampled_sources = 0;  // neurons where the paths of L start; 0 = all, nothing is estimated
  int sampled_pairs = 0;    // pairs of neighbours that C was estimated from
};

// "256 sources and 100000 pairs of neighbours", or empty if nothing is estimated.
std::string estimated_from(const GraphMetrics& metrics);

GraphMetrics graph_metrics(const Graph& graph);

}  // namespace hotloop
