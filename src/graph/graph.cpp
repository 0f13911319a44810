#include "graph/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <hotloop/error.hpp>
#include <queue>
#include <utility>

#include "graph/graph_limits.hpp"

namespace hotloop {
namespace {

// What is wrong with a single edge, or empty.
std::string fault_of(const Graph& graph, Edge edge) {
  for (const int neuron : {edge.source, edge.target}) {
    if (neuron < 0 || neuron >= graph.nodes) {
      return fmt::format("there is no neuron {}; the {} neurons are 0 to {}", neuron, graph.nodes,
                         graph.nodes - 1);
    }
  }
  if (graph.is_input(edge.target)) {
    return fmt::format("neuron {} is an input, which cannot have incoming edges", edge.target);
  }
  if (graph.is_output(edge.source)) {
    return fmt::format("neuron {} is an output, which cannot have outgoing edges", edge.source);
  }
  return {};
}

// The outgoing edges of each neuron: the counterpart of Graph::first and sources.
struct Successors {
  std::vector<std::int32_t> first;    // [nodes + 1]
  std::vector<std::int32_t> targets;  // [edges]

  explicit Successors(const Graph& graph)
      : first(graph.nodes + 1, 0), targets(graph.sources.size()) {
    for (const int source : graph.sources) ++first[source + 1];
    for (int n = 0; n < graph.nodes; ++n) first[n + 1] += first[n];
    std::vector<std::int32_t> next(first.begin(), first.end() - 1);
    for (int n = 0; n < graph.nodes; ++n) {
      for (int e = graph.first[n]; e < graph.first[n + 1]; ++e)
        targets[next[graph.sources[e]]++] = n;
    }
  }
};

// Every neuron comes after its predecessors, the lowest number first where there is a choice (Kahn
// 1962). Shorter than graph.nodes if there is a cycle.
std::vector<std::int32_t> topological_order(const Graph& graph, const Successors& successors) {
  std::vector<std::int32_t> waiting_for(graph.nodes);
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (int n = 0; n < graph.nodes; ++n) {
    waiting_for[n] = graph.first[n + 1] - graph.first[n];
    if (waiting_for[n] == 0) ready.push(n);
  }
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    order.push_back(n);
    for (int e = successors.first[n]; e < successors.first[n + 1]; ++e) {
      if (--waiting_for[successors.targets[e]] == 0) ready.push(successors.targets[e]);
    }
  }
  return order;
}

// A cycle among the neurons that are not in `order`, its lowest number first and last. Each of them
// has a predecessor among them, so walking backwards must close a cycle.
std::vector<std::int32_t> find_cycle(const Graph& graph, const std::vector<std::int32_t>& order) {
  std::vector<char> placed(graph.nodes, false);
  for (const int n : order) placed[n] = true;
  std::vector<std::int32_t> place(graph.nodes, -1);  // index in the walk
  std::vector<std::int32_t> walk;
  int n = static_cast<int>(std::find(placed.begin(), placed.end(), false) - placed.begin());
  while (place[n] < 0) {
    place[n] = static_cast<std::int32_t>(walk.size());
    walk.push_back(n);
    int e = graph.first[n];
    while (placed[graph.sources[e]]) ++e;
    n = graph.sources[e];
  }
  std::vector<std::int32_t> cycle(walk.rbegin(), walk.rend() - place[n]);
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  cycle.push_back(cycle.front());
  return cycle;
}

// "5 > 7 > 9 > 5"; the middle of a long cycle is left out.
std::string cycle_text(const std::vector<std::int32_t>& cycle) {
  constexpr std::size_t kShown = 20;
  if (cycle.size() <= kShown) return fmt::format("{}", fmt::join(cycle, " > "));
  return fmt::format("{} > ... > {} ({} neurons)",
                     fmt::join(cycle.begin(), cycle.begin() + kShown, " > "), cycle.back(),
                     cycle.size() - 1);
}

// Every input must lead to an output, every output must be reached from an input.
void check_ends(const Graph& graph, const Successors& successors,
                const std::vector<std::int32_t>& order, const std::string& origin) {
  std::vector<char> reached(graph.nodes, false), leads(graph.nodes, false);
  for (const int n : order) {
    reached[n] |= graph.is_input(n);
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      reached[n] |= reached[graph.sources[e]];
    }
  }
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    leads[*n] |= graph.is_output(*n);
    for (int e = successors.first[*n]; e < successors.first[*n + 1]; ++e) {
      leads[*n] |= leads[successors.targets[e]];
    }
  }
  for (int n = 0; n < graph.nodes; ++n) {
    if (graph.is_input(n) && !leads[n]) {
      throw UsageError(fmt::format("{}: input {} leads to no output", origin, n));
    }
    if (graph.is_output(n) && !reached[n]) {
      throw UsageError(fmt::format("{}: no input leads to output {}", origin, n));
    }
  }
}

}  // namespace

void check_edge_count(std::int64_t edges, const std::string& origin) {
  if (edges <= kMaxEdges) return;
  throw UsageError(fmt::format("{}: {} edges; a graph has at most {}", origin, edges, kMaxEdges));
}

Graph make_graph(int inputs, int hidden, int outputs, const std::vector<Edge>& edges,
                 const std::string& origin, std::span<const int> lines) {
  const std::int64_t nodes = std::int64_t{inputs} + hidden + outputs;
  if (inputs < 1 || hidden < 0 || outputs < 1 || nodes > kMaxNeurons) {
    throw UsageError(fmt::format(
        "{}: {} inputs, {} hidden neurons and {} outputs; a graph has at least one input and one "
        "output, and at most {} neurons",
        origin, inputs, hidden, outputs, kMaxNeurons));
  }
  check_edge_count(static_cast<std::int64_t>(edges.size()), origin);
  const auto blame = [&](std::size_t edge, const std::string& fault) {
    const std::string line = lines.empty() ? "" : fmt::format(":{}", lines[edge]);
    throw UsageError(fmt::format("{}{}: edge {}>{}: {}", origin, line, edges[edge].source,
                                 edges[edge].target, fault));
  };

  Graph graph;
  graph.inputs = inputs;
  graph.outputs = outputs;
  graph.nodes = static_cast<int>(nodes);
  graph.first.assign(graph.nodes + 1, 0);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (const std::string fault = fault_of(graph, edges[e]); !fault.empty()) blame(e, fault);
    ++graph.first[edges[e].target + 1];
  }
  for (int n = 0; n < graph.nodes; ++n) graph.first[n + 1] += graph.first[n];

  std::vector<std::int32_t> next(graph.first.begin(), graph.first.end() - 1);
  std::vector<std::int32_t> given(edges.size());  // by edge number, the index in `edges`
  graph.sources.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const int number = next[edges[e].target]++;
    graph.sources[number] = edges[e].source;
    given[number] = static_cast<std::int32_t>(e);
  }
  std::vector<std::int32_t> seen_by(graph.nodes, -1);
  for (int n = 0; n < graph.nodes; ++n) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      if (std::exchange(seen_by[graph.sources[e]], n) == n) blame(given[e], "given twice");
    }
  }

  const Successors successors(graph);
  const std::vector<std::int32_t> order = topological_order(graph, successors);
  if (order.size() < static_cast<std::size_t>(graph.nodes)) {
    throw UsageError(fmt::format("{}: a cycle: {}", origin, cycle_text(find_cycle(graph, order))));
  }
  check_ends(graph, successors, order, origin);
  std::copy_if(order.begin(), order.end(), std::back_inserter(graph.order),
               [&](int n) { return !graph.is_input(n); });
  return graph;
}

std::vector<int> levels_of(const Graph& graph) {
  std::vector<int> levels(graph.nodes);
  for (const int n : graph.order) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      levels[n] = std::max(levels[n], levels[graph.sources[e]] + 1);
    }
  }
  return levels;
}

}  // namespace hotloop
