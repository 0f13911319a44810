// Graphs as GraphML. graph_file.hpp describes the part of the format that is read and written.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace hotloop {

Graph from_graphml(std::string_view text, const std::string& path);

}  // namespace hotloop
