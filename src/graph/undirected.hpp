// Measures of a graph whose edges have no direction: clustering, distances, communities.
#pragma once

#include <vector>

#include "graph/graph.hpp"

namespace hotloop {

using Neighbours = std::vector<std::vector<int>>;  // of each neuron, rising

// The neurons 0 … nodes - 1; no edge may be given in both directions.
Neighbours neighbours_of(int nodes, const std::vector<Edge>& edges);

// The average over all neurons of: pairs of its neighbours that are neighbours themselves, as a share
// of all its pairs of neighbours; 0 for neurons with fewer than two (Watts and Strogatz 1998).
double clustering(const Neighbours& graph);

// The average number of edges on the shortest path between two neurons, over the pairs that have one;
// NaN if there is no edge.
double mean_path_length(const Neighbours& graph);

// Newman's Q (2004): the share of edges inside communities, less what it would be if the edges were
// placed at random and every neuron kept its degree. 0 without edges.
double modularity(const Neighbours& graph, const std::vector<int>& community);

// The community of each neuron, numbered from 0: a partition of high modularity by the Louvain method
// (Blondel, Guillaume, Lambiotte and Lefebvre 2008). Neurons are visited in rising order and move only
// if that is strictly better, so the result depends on nothing but the graph.
std::vector<int> communities(const Neighbours& graph);

}  // namespace hotloop
