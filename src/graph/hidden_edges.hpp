// Recipes for the edges between hidden neurons, which have the numbers 0 … hidden - 1 here. Every
// edge goes from a lower to a higher number, so there are no cycles.
//
// All recipes make lattice_edges(hidden, degree) edges, the modular one that number per module,
// with the size of the module. A small world may lose a few.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "graph/numpy_random.hpp"

namespace hotloop {

// The number of edges of a chain in which each neuron leads to the next ⌊degree / 2⌋.
std::int64_t lattice_edges(int hidden, int degree);

// That chain, source by source. Then each edge in turn is redrawn with probability `rewire`: it
// keeps its source u and gets a target drawn uniformly from u + 1 … hidden - 1 that u does not have
// yet, perhaps the old one. It is lost if 101 draws find none. Kept edges come first, then redrawn
// ones.
std::vector<Edge> small_world_edges(int hidden, int degree, double rewire, NumpyRandom& random);

// `count` different pairs, all subsets equally likely. Ordered by source, then target.
std::vector<Edge> uniform_edges(int hidden, int count, NumpyRandom& random);
// The same, with other draws: the time depends on the number of edges, not on the number of pairs.
std::vector<Edge> few_uniform_edges(int hidden, int count, NumpyRandom& random);

// Neuron n gets min(n, ⌊degree / 2⌋) different predecessors, drawn in proportion to the edges they
// have at that time. All neurons are reached from neuron 0. Ordered by source, then target.
std::vector<Edge> scale_free_edges(int hidden, int degree, NumpyRandom& random);

// Module b is a small world of the neurons module_begin(b) … module_begin(b + 1) - 1. Then each
// edge leaves its module with probability `rewire`: it keeps its source, the other end is drawn
// uniformly from the neurons of all other modules, and the edge points from the lower to the higher
// number. Ordered by source, then target.
std::vector<Edge> modular_edges(int hidden, int degree, int modules, double rewire,
                                NumpyRandom& random);
int module_begin(int module, int modules, int hidden);

// Makes sure that a path leads from an entry (fed by the inputs) to an exit (feeds the outputs). If
// there is none, the first edge that the new path does not need is replaced by an edge from the
// highest neuron reached from an entry to the lowest neuron above it that leads to an exit. Expects
// and keeps the order by source, then target. The last neuron must be an exit.
void connect(std::vector<Edge>& edges, int hidden, const std::vector<int>& entries,
             const std::vector<int>& exits);

}  // namespace hotloop
