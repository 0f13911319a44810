// Helpers for the tests of several kinds of graph.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "graph/generators.hpp"

namespace hotloop {

using Pairs = std::set<std::pair<int, int>>;  // source, target

inline Pairs hidden_pairs(const Graph& graph) {
  Pairs pairs;
  for (int n = graph.inputs; n < graph.nodes - graph.outputs; ++n) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      if (!graph.is_input(graph.sources[e])) pairs.emplace(graph.sources[e], n);
    }
  }
  return pairs;
}

inline std::vector<int> predecessors(const Graph& graph, int n) {
  return {graph.sources.begin() + graph.first[n], graph.sources.begin() + graph.first[n + 1]};
}

// The longest path in edges, the obvious way; every edge leads to a larger number.
inline int longest_path(const Graph& graph) {
  std::vector<int> length(graph.nodes, 0);
  for (int n = 0; n < graph.nodes; ++n) {
    for (const int source : predecessors(graph, n)) {
      length[n] = std::max(length[n], length[source] + 1);
    }
  }
  return *std::max_element(length.begin(), length.end());
}

inline GraphOptions small_world(int hidden, int degree, double rewire, std::uint64_t seed = 47) {
  return {.kind = GraphKind::small_world,
          .hidden = {hidden},
          .degree = degree,
          .rewire = rewire,
          .seed = seed};
}

}  // namespace hotloop
