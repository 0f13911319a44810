// Makes a graph by recipe (graph_options.hpp).
//
// Every edge of a generated graph goes from a lower to a higher number. Every input feeds the first
// k hidden neurons, the last k feed every output; modular: the first and last ⌈k / modules⌉ of each
// module. hidden_edges.hpp has the recipes for the edges between them. It also connects inputs and
// outputs if the recipe left no path, which can happen in random and modular graphs.
#pragma once

#include "graph/graph.hpp"
#include "graph/graph_options.hpp"

namespace hotloop {

// Throws UsageError with the wrong key net.graph.* and what is allowed.
Graph generate_graph(const GraphOptions& options, int inputs, int outputs);

}  // namespace hotloop
