// Recipes for the edges between hidden neurons, which have the numbers 0 … hidden - 1 here. Every edge
// goes from a lower to a higher number, so nothing can be a cycle.
//
// All have lattice_edges(hidden, degree) edges, modular ones that many in each module; a small world
// may have lost a few.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "graph/numpy_random.hpp"

namespace hotloop {

// Edges of a chain in which each neuron leads to the next ⌊degree / 2⌋.
std::int64_t lattice_edges(int hidden, int degree);

// That chain, source by source; then each edge in turn is redrawn with probability `rewire`: it
// keeps its source u and gets a target uniformly among u + 1 … hidden - 1 that u does not have yet,
// perhaps the old one. It is lost if 101 draws hit none. Kept edges come first, then redrawn ones.
std::vector<Edge> small_world_edges(int hidden, int degree, double rewire, NumpyRandom& random);

// `count` different pairs, each choice of them equally likely; ordered by source, then target.
std::vector<Edge> uniform_edges(int hidden, int count, NumpyRandom& random);

// Neuron n gets min(n, ⌊degree / 2⌋) different predecessors, each drawn in proportion to the edges it
// has at that time. All neurons are reached from neuron 0. Ordered by source, then target.
std::vector<Edge> scale_free_edges(int hidden, int degree, NumpyRandom& random);

// Module b is a small world of the neurons module_begin(b) … module_begin(b + 1) - 1. Then each edge
// leaves its module with probability `rewire`: it keeps its source, the other end is drawn uniformly
// among the neurons of all other modules, and the edge points from the lower to the higher number.
// Ordered by source, then target.
std::vector<Edge> modular_edges(int hidden, int degree, int modules, double rewire,
                                NumpyRandom& random);
int module_begin(int module, int modules, int hidden);

// Makes sure that some path leads from one of the `fed` neurons to one of the `read` ones. If none
// does, an edge from the highest neuron that is reached to the lowest one above it that leads on
// takes the place of the first edge that this path does not need. Expects and keeps the order by
// source, then target, and that the last neuron is read.
void connect(std::vector<Edge>& edges, int hidden, const std::vector<int>& fed,
             const std::vector<int>& read);

}  // namespace hotloop
