// Describes a network that is a graph of neurons.
#pragma once

#include "core/json.hpp"
#include "net/structure.hpp"

namespace hotloop {

// The graph in the network; null if it has none.
const DagLayer* graph_of(const Structure& structure);

// Size, depth and measures (graph_metrics.hpp), the topological order, and every edge. Graphs with
// more than 200,000 edges are described without order and edges.
Json describe_graph(const Graph& graph);

}  // namespace hotloop
