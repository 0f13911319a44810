// Graphs in files, to exchange them with other programs. The file extension gives the format:
//
//   .txt .edges  One edge per line, "source target", numbers as in graph.hpp. The first line that
//                is not blank is "# inputs 4 outputs 2", where the # is optional. "hidden 32" can
//                be added; otherwise the highest number in the file is the last output. After the
//                first line, # starts a comment.
//   .json        {"inputs": 4, "hidden": 32, "outputs": 2, "edges": [[0, 4], [4, 36], …]}; hidden
//                is optional in the same way.
//   .graphml     GraphML 1.0, directed. Each node has an attribute named `role`: input, hidden or
//                output. Inputs are numbered first, then hidden neurons, then outputs, each in the
//                order of the file. Node ids are arbitrary. Other attributes are ignored.
//
// The order of the incoming edges of a neuron is the order of its predecessors, so a graph that is
// written and read again is equal.
//
// Files above the limits of graph_limits.hpp are refused before they are read.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace hotloop {

// Returns the format of graph_text.hpp, for GraphOptions::edges. Throws UsageError with path and,
// if known, line; RunError if there is no such file.
std::string read_graph_file(const std::string& path);
// The same for contents that are already in memory; the path gives the format.
std::string graph_file_text(std::string_view contents, const std::string& path);

std::string to_edge_list(const Graph& graph);
std::string to_json(const Graph& graph);
std::string to_graphml(const Graph& graph);

}  // namespace hotloop
