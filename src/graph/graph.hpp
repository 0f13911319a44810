// A directed acyclic graph of neurons: inputs, hidden neurons, outputs, one weight per edge.
//
// Neurons have numbers: inputs 0 … I - 1, outputs are the last O, hidden ones lie between. `order` lists
// all that compute (everything but the inputs) so that each comes after its predecessors. The
// predecessors of neuron n are sources[first[n]] … sources[first[n + 1] - 1], in an order that decides
// initial weights and the last bits of sums; the place of an edge there is its number.
//
// A graph is made once and never changed. Generators are in generators.hpp, files in graph_file.hpp.
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

// From edges in any order; predecessors keep the order in which their edges are given, `order` prefers
// low numbers, so it is the rising one if every edge goes from a lower to a higher number. Throws
// UsageError, beginning with `origin`, that names the neuron or edge to blame: unknown neurons, edges
// into inputs or out of outputs, duplicates, cycles (neuron by neuron), inputs that lead to no output,
// outputs that no input reaches. A hidden neuron may be without predecessors: it is its bias then.
// If `lines` says where each edge was read, what is wrong with a single one begins with origin:line.
Graph make_graph(int inputs, int hidden, int outputs, const std::vector<Edge>& edges,
                 const std::string& origin, std::span<const int> lines = {});

// The level of each neuron: edges on the longest path that leads to it.
std::vector<int> levels_of(const Graph& graph);

}  // namespace hotloop
