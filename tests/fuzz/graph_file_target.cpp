// The first byte chooses a format, the rest is a file with a graph. A graph that is accepted can be
// written in every format and read back, and measured.
#include <array>
#include <string>

#include "graph/graph_file.hpp"
#include "graph/graph_metrics.hpp"
#include "graph/graph_text.hpp"
#include "tests/fuzz/target.hpp"

HOTLOOP_FUZZ_TARGET(graph_file) {
  using namespace hotloop;
  if (bytes.empty()) return;
  constexpr std::array<const char*, 4> kPaths = {"a.txt", "a.json", "a.graphml", "net.graph.edges"};
  const std::string path = kPaths[bytes[0] % kPaths.size()];
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  const bool in_spec = path == "net.graph.edges";
  const Graph graph = graph_from_text(in_spec ? text : graph_file_text(text, path), path);
  const bool same = fuzz::prepared([&] {
    const std::string line = to_text(graph);
    return graph_from_text(line, path) == graph &&
           graph_file_text(to_edge_list(graph), "a.txt") == line &&
           graph_file_text(to_json(graph), "a.json") == line &&
           graph_file_text(to_graphml(graph), "a.graphml") == line;
  });
  if (!same) throw std::logic_error("a graph is not read back as itself");
  if (graph.nodes < 1'000) graph_metrics(graph);
}
