// What shape a graph has: its size and depth, and how much of a small world its hidden neurons are.
//
// Clustering C, mean path length L and modularity are those of the hidden neurons with the edges
// between them, directions ignored. They are compared with two references of as many neurons and
// edges:
//   random   the average of ten graphs whose edges are drawn uniformly, always the same ten
//   lattice  a chain: all edges between neurons 1 apart, then all 2 apart, … as far as they go
//
//   sigma = (C / C_random) / (L / L_random)       above 1: a small world (Humphries and Gurney 2008)
//   omega = L_random / L - C / C_lattice          near 0: a small world, towards -1 a lattice, towards
//                                                 1 random (Telesford and others 2011)
#pragma once

#include <vector>

#include "graph/graph.hpp"

namespace hotloop {

struct GraphMetrics {
  int nodes = 0;
  int edges = 0;
  int hidden_edges = 0;
  int depth = 0;            // edges on the longest path
  std::vector<int> widths;  // [depth + 1]: neurons whose longest path from a start has that length
  double clustering = 0;    // C
  double path_length = 0;   // L, over the pairs that are connected; NaN without hidden edges
  double random_clustering = 0;
  double random_path_length = 0;
  double lattice_clustering = 0;
  double sigma = 0;       // NaN where a divisor is 0: graphs too sparse for triangles
  double omega = 0;       // likewise
  int communities = 0;    // that the Louvain method finds
  double modularity = 0;  // of those
};

GraphMetrics graph_metrics(const Graph& graph);

}  // namespace hotloop
