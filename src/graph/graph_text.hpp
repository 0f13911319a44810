// A graph in one line: "4 32 2: 0>4 1>4 4>5 …" = inputs, hidden neurons, outputs, then all edges,
// ordered by target, and for each target in the order of its predecessors.
#pragma once

#include <string>

#include "graph/graph.hpp"

namespace hotloop {

std::string to_text(const Graph& graph);
Graph graph_from_text(const std::string& text, const std::string& origin);  // throws UsageError

}  // namespace hotloop
