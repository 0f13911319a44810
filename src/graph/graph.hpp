// A directed acyclic graph of neurons: inputs, hidden neurons, outputs, one weight per edge.
//
// Neurons have numbers: inputs are 0 … I - 1, outputs the last O, hidden neurons lie between.
// `order` lists all neurons that compute (all but the inputs) so that each comes after its
// predecessors. The predecessors of neuron n are sources[first[n]] … sources[first[n + 1] - 1].
// Their order decides initial weights and the last bits of sums. The index of an edge in `sources`
// is its number.
//
// A graph is immutable. Generators are in generators.hpp, files in graph_file.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hotloop {

struct Graph {
  int inputs = 0;
  int outputs = 0;
  int nodes = 0;
  std::vector<std::int32_t> first;    // [nodes + 1]
  std::vector<std::int32_t> sources;  // [edges]
  std::vector<std::int32_t> order;    // [nodes - inputs]

  int edges() const { return static_cast<int>(sources.size()); }
  int hidden() const { return nodes - inputs - outputs; }
  bool is_input(int node) const { return node < inputs; }
  bool is_output(int node) const { return node >= nodes - outputs; }
  bool operator==(const Graph&) const = default;
};

struct Edge {
  int source = 0;
  int target = 0;
  bool operator==(const Edge&) const = default;
};

// Throws UsageError if there are more than kMaxEdges (graph_limits.hpp). For callers that collect
// edges, so that they stop in time.
void check_edge_count(std::int64_t edges, const std::string& origin);

// Takes edges in any order. Predecessors keep the order in which their edges are given. `order`
// prefers low numbers, so it is ascending if every edge goes from a lower to a higher number.
// Throws UsageError, beginning with `origin`, that names the wrong neuron or edge: unknown neurons,
// edges into inputs or out of outputs, duplicates, cycles (neuron by neuron), inputs that lead to
// no output, outputs that no input reaches, graphs above the limits of graph_limits.hpp. A hidden
// neuron without predecessors is allowed: it computes from its bias only. If `lines` has the line of
// each edge, errors about one begin with origin:line.
Graph make_graph(int inputs, int hidden, int outputs, const std::vector<Edge>& edges,
                 const std::string& origin, std::span<const int> lines = {});

// The level of each neuron: the number of edges on the longest path to it.
std::vector<int> levels_of(const Graph& graph);

}  // namespace hotloop
