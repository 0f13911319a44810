// Graphs in files, to exchange them with other programs. The file extension gives the format:
//
//   .txt .edges  One edge per line, "source target", numbers as in graph.hpp. The first line that is
//                not blank is "# inputs 4 outputs 2", the # may be left out; "hidden 32" can be added,
//                otherwise the highest number that occurs is the last output. After it, # starts a
//                comment.
//   .json        {"inputs": 4, "hidden": 32, "outputs": 2, "edges": [[0, 4], [4, 36], …]}; hidden may
//                be left out in the same way.
//   .graphml     GraphML 1.0, directed. Each node has an attribute named `role`: input, hidden or
//                output; inputs are numbered first, then hidden ones, then outputs, each in the order
//                of the file. Node ids are free; other attributes are ignored.
//
// The order of the edges that lead to a neuron is the order of its predecessors, so what was written
// and is read again equals the first graph.
#pragma once

#include <string>

#include "graph/graph.hpp"

namespace hotloop {

// As graph_text.hpp says: the value for GraphOptions::edges. Throws UsageError with path and, where it
// is known, line, RunError if there is no such file.
std::string read_graph_file(const std::string& path);

std::string to_edge_list(const Graph& graph);
std::string to_json(const Graph& graph);
std::string to_graphml(const Graph& graph);

}  // namespace hotloop
