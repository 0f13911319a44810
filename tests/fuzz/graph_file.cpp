// Files with graphs, in every format. A mistake is a UsageError, nothing else; a graph that is
// accepted can be written in every format and read back, and measured.
//
// The first byte of the input chooses the format.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <hotloop/error.hpp>

#include "graph/graph_file.hpp"
#include "graph/graph_metrics.hpp"
#include "graph/graph_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hotloop;
  if (size == 0) return 0;
  constexpr std::array<const char*, 4> kPaths = {"a.txt", "a.json", "a.graphml", "net.graph.edges"};
  const std::string path = kPaths[data[0] % kPaths.size()];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool in_spec = path == "net.graph.edges";
  Graph graph;
  try {
    graph = graph_from_text(in_spec ? text : graph_file_text(text, path), path);
  } catch (const UsageError&) {
    return 0;
  }
  const auto check = [](bool holds) {
    if (!holds) std::terminate();
  };
  check(graph_from_text(to_text(graph), path) == graph);
  check(graph_file_text(to_edge_list(graph), "a.txt") == to_text(graph));
  check(graph_file_text(to_json(graph), "a.json") == to_text(graph));
  check(graph_file_text(to_graphml(graph), "a.graphml") == to_text(graph));
  if (graph.nodes < 1'000) check(graph_metrics(graph).nodes == graph.nodes);
  return 0;
}
