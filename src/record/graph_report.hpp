// Describes a network that is a graph of neurons.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "net/structure.hpp"

namespace hotloop {

// The graph in the network; null if it has none.
const DagLayer* graph_of(const Structure& structure);

// Size, depth and measures (graph_metrics.hpp), the topological order, and every edge.
nlohmann::ordered_json describe_graph(const Graph& graph);

}  // namespace hotloop
