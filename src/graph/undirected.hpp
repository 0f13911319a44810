// Metrics of an undirected graph: clustering, distances, communities.
#pragma once

#include <vector>

#include "graph/graph.hpp"
#include "graph/numpy_random.hpp"

namespace hotloop {

using Neighbours = std::vector<std::vector<int>>;  // per neuron, ascending

// The neurons are 0 … nodes - 1. No edge may be given in both directions.
Neighbours neighbours_of(int nodes, const std::vector<Edge>& edges);

// The mean over all neurons of the share of its pairs of neighbours that are neighbours themselves;
// 0 for neurons with fewer than two neighbours (Watts and Strogatz 1998).
double clustering(const Neighbours& graph);

// The same from `pairs` samples: a neuron, two of its neighbours, and whether they are neighbours
// (Schank and Wagner 2005). The standard error is at most 0.5 / sqrt(pairs).
double estimated_clustering(const Neighbours& graph, int pairs, NumpyRandom& random);

// The mean number of edges on the shortest path between two neurons, over connected pairs. NaN if
// there is no edge.
double mean_path_length(const Neighbours& graph);

// The same from the paths that start at `sources` neurons, at most all: one drawn from each of as
// many ranges of equal length.
double estimated_path_length(const Neighbours& graph, int sources, NumpyRandom& random);

// Newman's Q (2004): the share of edges inside communities, minus its expected value if edges were
// placed at random and every neuron kept its degree. 0 without edges.
double modularity(const Neighbours& graph, const std::vector<int>& community);

// The community of each neuron, numbered from 0: a partition of high modularity by the Louvain
// method (Blondel, Guillaume, Lambiotte and Lefebvre 2008). Visits neurons in ascending order and
// moves them only if that is strictly better, so the result depends only on the graph. Takes at
// most about a second: on graphs of millions of edges it stops early.
std::vector<int> communities(const Neighbours& graph);

}  // namespace hotloop
