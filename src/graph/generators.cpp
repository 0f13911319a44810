#include "graph/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hotloop/error.hpp>
#include <numeric>

#include "graph/graph_limits.hpp"
#include "graph/graph_text.hpp"
#include "graph/hidden_edges.hpp"
#include "graph/numpy_random.hpp"

namespace hotloop {
namespace {

[[noreturn]] void refuse(std::string_view key, const std::string& why) {
  throw UsageError(fmt::format("net.graph.{}: {}", key, why));
}

// Before anything of that size is made.
void check_size(std::int64_t neurons, std::int64_t edges) {
  if (neurons > kMaxNeurons)
    refuse("hidden", fmt::format("makes {} neurons; allowed: at most {}", neurons, kMaxNeurons));
  if (edges > kMaxEdges)
    refuse("hidden", fmt::format("makes {} edges; allowed: at most {}", edges, kMaxEdges));
}

Graph dense_graph(const GraphOptions& options, int inputs, int outputs) {
  std::vector<int> sizes = {inputs};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  sizes.push_back(outputs);
  const std::int64_t neurons = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  check_size(neurons, 0);
  std::int64_t count = 0;  // fits, because no layer has more than kMaxNeurons
  for (std::size_t i = 1; i < sizes.size(); ++i) count += std::int64_t{sizes[i - 1]} * sizes[i];
  check_size(neurons, count);

  std::vector<Edge> edges;
  edges.reserve(static_cast<std::size_t>(count));
  int begin = 0;  // of the source layer
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const int middle = begin + sizes[i - 1];
    for (int source = begin; source < middle; ++source) {
      for (int target = middle; target < middle + sizes[i]; ++target) {
        edges.push_back({source, target});
      }
    }
    begin = middle;
  }
  return make_graph(inputs, static_cast<int>(neurons) - inputs - outputs, outputs, edges,
                    "net.graph");
}

// The hidden neurons of a graph, numbered from 0, and the edges between them.
struct Middle {
  std::vector<Edge> edges;
  std::vector<int> entries, exits;  // neurons that receive every input, that feed every output
};

void append_range(std::vector<int>& list, int begin, int size) {
  list.resize(list.size() + size);
  std::iota(list.end() - size, list.end(), begin);
}

Middle make_middle(const GraphOptions& options, int hidden) {
  NumpyRandom random(options.seed);
  Middle middle;
  const int modules = options.kind == GraphKind::modular ? options.modules : 1;
  const int links = (options.degree + modules - 1) / modules;
  for (int b = 0; b < modules; ++b) {
    append_range(middle.entries, module_begin(b, modules, hidden), links);
    append_range(middle.exits, module_begin(b + 1, modules, hidden) - links, links);
  }
  switch (options.kind) {
    case GraphKind::small_world:
      middle.edges = small_world_edges(hidden, options.degree, options.rewire, random);
      return middle;
    case GraphKind::lattice:
      middle.edges = small_world_edges(hidden, options.degree, 0, random);
      return middle;
    case GraphKind::random:
      middle.edges =
          uniform_edges(hidden, static_cast<int>(lattice_edges(hidden, options.degree)), random);
      break;
    case GraphKind::scale_free:
      middle.edges = scale_free_edges(hidden, options.degree, random);
      break;
    default:
      middle.edges = modular_edges(hidden, options.degree, modules, options.rewire, random);
  }
  connect(middle.edges, hidden, middle.entries, middle.exits);
  return middle;
}

// Hidden edges come first, so that a neuron's inputs are its last predecessors.
Graph attach(Middle middle, int inputs, int hidden, int outputs) {
  std::vector<Edge> edges = std::move(middle.edges);
  for (Edge& edge : edges) edge = {inputs + edge.source, inputs + edge.target};
  for (int input = 0; input < inputs; ++input) {
    for (const int n : middle.entries) edges.push_back({input, inputs + n});
  }
  for (const int n : middle.exits) {
    for (int output = 0; output < outputs; ++output) {
      edges.push_back({inputs + n, inputs + hidden + output});
    }
  }
  return make_graph(inputs, hidden, outputs, edges, "net.graph");
}

int checked_hidden(const GraphOptions& options) {
  const std::string_view kind = kGraphNames[static_cast<int>(options.kind)];
  if (options.hidden.size() != 1) {
    refuse("hidden", fmt::format("{} numbers; a graph of kind {} takes one, only dense has layers",
                                 options.hidden.size(), kind));
  }
  const int hidden = options.hidden[0];
  if (hidden < 3) {
    refuse("hidden", fmt::format("{}; a graph of kind {} has at least 3", hidden, kind));
  }
  int size = hidden;  // must exceed the degree; modular: the size of a module
  std::string where = fmt::format("{} hidden neurons", hidden);
  if (options.kind == GraphKind::modular) {
    if (options.modules < 1 || options.modules > hidden / 3) {
      refuse("modules", fmt::format("{}; allowed for {} hidden neurons: 1 to {}", options.modules,
                                    hidden, hidden / 3));
    }
    size = hidden / options.modules;
    where = fmt::format("modules of {} neurons", size);
  }
  if (options.degree < 2 || options.degree >= size) {
    refuse("degree", fmt::format("{}; allowed for {}: 2 to {}", options.degree, where, size - 1));
  }
  if (!(options.rewire >= 0 && options.rewire <= 1)) {
    refuse("rewire", fmt::format("{}; allowed: 0 to 1", options.rewire));
  }
  if (options.seed > NumpyRandom::kMaxSeed) {
    refuse("seed", fmt::format("{}; allowed: 0 to {}", options.seed, NumpyRandom::kMaxSeed));
  }
  return hidden;
}

}  // namespace

Graph generate_graph(const GraphOptions& options, int inputs, int outputs) {
  if (options.kind == GraphKind::none) refuse("kind", "none is not a graph");
  if (options.kind == GraphKind::edges) {
    Graph graph = graph_from_text(options.edges, "net.graph.edges");
    if (graph.inputs != inputs || graph.outputs != outputs) {
      refuse("edges", fmt::format("has {} inputs and {} outputs; needed: {} and {}", graph.inputs,
                                  graph.outputs, inputs, outputs));
    }
    return graph;
  }
  for (const int size : options.hidden) {
    if (size < 1) refuse("hidden", fmt::format("{}; allowed: 1 or more", size));
  }
  if (options.kind == GraphKind::dense) return dense_graph(options, inputs, outputs);
  const int hidden = checked_hidden(options);
  const std::int64_t ends = std::int64_t{inputs} + outputs;
  const int modules = options.kind == GraphKind::modular ? options.modules : 1;
  const std::int64_t links = options.degree + modules - 1;  // of an end; modular: at most
  check_size(hidden + ends, lattice_edges(hidden, options.degree) + links * ends);
  return attach(make_middle(options, hidden), inputs, hidden, outputs);
}

}  // namespace hotloop
