#include "net/structure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

#include "net/branches.hpp"
#include "net/structure_builder.hpp"

namespace hotloop {
namespace {

std::vector<TensorInfo> tensors_of(const DenseLayer& layer) {
  std::vector<TensorInfo> list = {{"weight", layer.weight, layer.out, layer.in, layer.stride},
                                  {"bias", layer.bias, 1, layer.out, 0}};
  if (layer.noisy) {
    list.push_back({"weight_sigma", layer.weight_sigma, layer.out, layer.in, layer.stride});
    list.push_back({"bias_sigma", layer.bias_sigma, 1, layer.out, 0});
  }
  return list;
}

std::vector<TensorInfo> tensors_of(const ConvLayer& layer) {
  return {{"weight", layer.weight, layer.out, layer.fan_in(), layer.stride},
          {"bias", layer.bias, 1, layer.out, 0}};
}

std::vector<TensorInfo> tensors_of(const NormLayer& layer) {
  return {{"scale", layer.scale, 1, layer.width, 0}, {"shift", layer.shift, 1, layer.width, 0}};
}

// Appends those of a layer within another.
template <class LayerType>
void add_inner(std::string_view name, const LayerType& layer, std::vector<TensorInfo>& list) {
  for (TensorInfo& tensor : tensors_of(layer)) {
    tensor.name = fmt::format("{}.{}", name, tensor.name);
    list.push_back(std::move(tensor));
  }
}

std::vector<TensorInfo> tensors_of(const StreamsLayer& layer) {
  std::vector<TensorInfo> list;
  add_inner("value", layer.value, list);
  add_inner("advantage", layer.advantage, list);
  return list;
}

std::vector<TensorInfo> tensors_of(const AttentionLayer& layer) {
  std::vector<TensorInfo> list;
  add_inner("hidden", layer.hidden, list);
  add_inner("score", layer.score, list);
  return list;
}

std::vector<TensorInfo> tensors_of(const ForestLayer::Round& round, int width) {
  std::vector<TensorInfo> list;
  add_inner("query", round.query, list);
  add_inner("key", round.key, list);
  add_inner("value", round.value, list);
  list.push_back({"edge.weight", round.edge, width, width, width});
  add_inner("skip", round.skip, list);
  add_inner("norm", round.norm, list);
  return list;
}

std::vector<TensorInfo> tensors_of(const ForestLayer& layer) {
  std::vector<TensorInfo> list;
  const auto add = [&](std::string_view name, const ForestLayer::Embedding& embedding) {
    add_inner(fmt::format("{}_in", name), embedding.in, list);
    add_inner(fmt::format("{}_norm", name), embedding.norm, list);
    add_inner(fmt::format("{}_out", name), embedding.out, list);
  };
  add("graph", layer.graph);
  add_inner("node_in", layer.node, list);
  add("edge", layer.edge);
  for (std::size_t r = 0; r < layer.rounds.size(); ++r) {
    for (TensorInfo& tensor : tensors_of(layer.rounds[r], layer.width)) {
      tensor.name = fmt::format("round{}.{}", r, tensor.name);
      list.push_back(std::move(tensor));
    }
  }
  return list;
}

std::vector<TensorInfo> tensors_of(const DuelingLayer&) { return {}; }
std::vector<TensorInfo> tensors_of(const CopyLayer&) { return {}; }
std::vector<TensorInfo> tensors_of(const ConstantLayer& layer) {
  return {{"value", layer.value, 1, layer.width, 0}};
}

std::vector<TensorInfo> tensors_of(const DagLayer& layer) {
  return {{"weight", layer.weight, 1, layer.graph->edges(), 0},
          {"bias", layer.bias, 1, layer.computed(), 0}};
}

// What describe() tells of the layers.
struct Summary {
  std::string grid;                     // "10x10x3 conv 32-64"
  std::vector<std::string> widths;      // of the layers after it; the last one is the head
  std::vector<Activation> activations;  // of all these
  const NormLayer* norm = nullptr;
  const DagLayer* dag = nullptr;
  bool dueling = false;

  void operator()(const ConvLayer& layer) {
    grid += grid.empty() ? fmt::format("{}x{}x{} conv ", layer.height, layer.width, layer.in) : "-";
    grid += fmt::format("{}", layer.out);
    activations.push_back(layer.activation);
  }
  void operator()(const DenseLayer& layer) {
    widths.push_back(fmt::format("{}", layer.out));
    activations.push_back(layer.activation);
  }
  void operator()(const StreamsLayer& layer) {
    widths.push_back(fmt::format("({}+{})", layer.value.out, layer.advantage.out));
    activations.push_back(layer.value.activation);
  }
  void operator()(const NormLayer& layer) { norm = &layer; }
  void operator()(const DuelingLayer&) { dueling = true; }
  void operator()(const AttentionLayer&) {}  // a branch's, like the next
  void operator()(const CopyLayer&) {}
  void operator()(const ConstantLayer&) {}
  void operator()(const ForestLayer&) {}
  void operator()(const DagLayer& layer) {
    widths = {fmt::format("{}", layer.graph->hidden()), fmt::format("{}", layer.outputs())};
    dag = &layer;
  }
};

}  // namespace

bool DagLayer::operator==(const DagLayer& other) const {
  const auto rest = [](const DagLayer& l) {
    return std::tuple(l.activation, l.activate_outputs, l.train_biases, l.seed, l.weight, l.bias);
  };
  return *graph == *other.graph && rest(*this) == rest(other);
}

Structure make_mlp(int inputs, int actions, const NetOptions& options, int atoms,
                   const GridShape& grid, std::span<const InputPart> parts) {
  Structure structure{.inputs = inputs, .outputs = actions * atoms};
  StructureBuilder build(structure, options);
  const Stretch front = add_front(options, grid, parts, structure, build).last;
  int at = front.at, width = front.size();  // what the next layer reads
  const auto add = [&](Layer layer) {
    width = outputs_of(layer);
    at = build.add(std::move(layer), at);
  };
  if (options.graph.kind != GraphKind::none) {
    assert(!options.layer_norm && options.noisy == Noisy::none && options.dueling_hidden.empty());
    add(build.dag(width, (options.dueling ? 1 + actions : actions) * atoms));
    if (options.dueling) add(DuelingLayer{.actions = actions, .atoms = atoms});
    structure.outputs_at = at;
    return structure;
  }
  const bool noisy = options.noisy == Noisy::all, noisy_head = options.noisy != Noisy::none;
  for (const int hidden : options.hidden) {
    add(build.dense(width, hidden, options.layer_norm ? Activation::linear : options.activation,
                    noisy));
    if (options.layer_norm) add(build.norm(hidden, options.activation));
  }
  if (options.dueling_hidden.empty()) {
    add(build.dense(width, (options.dueling ? 1 + actions : actions) * atoms, Activation::linear,
                    noisy_head));
  } else {
    assert(options.dueling && !options.layer_norm);
    bool split = false;
    for (const int hidden : options.dueling_hidden) {
      const int in = split ? width / 2 : width;
      add(build.streams(in, hidden, hidden, split, options.activation, noisy));
      split = true;
    }
    add(build.streams(width / 2, atoms, actions * atoms, split, Activation::linear, noisy_head));
  }
  if (options.dueling) add(DuelingLayer{.actions = actions, .atoms = atoms});
  structure.outputs_at = at;
  return structure;
}

Structure only_outputs(const Structure& structure, int first, int count) {
  Structure part = structure;
  part.layers.clear();
  part.places.clear();
  part.outputs_at = structure.outputs_at + first;
  part.outputs = count;
  std::vector<bool> wanted(structure.features);
  std::fill_n(wanted.begin() + part.outputs_at, count, true);
  for (std::size_t l = structure.layers.size(); l-- > 0;) {
    const auto [from, to] = structure.places[l];
    const Layer& layer = structure.layers[l];
    const auto begin = wanted.begin() + to;
    if (std::find(begin, begin + outputs_of(layer), true) == begin + outputs_of(layer)) continue;
    std::fill_n(wanted.begin() + from, inputs_of(layer), true);
    part.layers.insert(part.layers.begin(), layer);
    part.places.insert(part.places.begin(), structure.places[l]);
  }
  return part;
}

std::vector<TensorInfo> tensors(const Structure& structure) {
  std::vector<TensorInfo> all;
  for (std::size_t i = 0; i < structure.layers.size(); ++i) {
    for (TensorInfo& tensor :
         std::visit([](const auto& layer) { return tensors_of(layer); }, structure.layers[i])) {
      tensor.name = fmt::format("layer{}.{}", i, tensor.name);
      all.push_back(std::move(tensor));
    }
  }
  return all;
}

std::string Structure::describe() const {
  if (!rest.empty()) {
    return fmt::format("{}{}{}, {} parameters", front, front.empty() ? "" : " | ", rest,
                       parameters);
  }
  Summary summary;
  for (std::size_t i = front_layers; i < layers.size(); ++i) std::visit(summary, layers[i]);
  summary.widths.back() = fmt::format("{}", outputs);
  std::string text = front.empty() ? fmt::format("{}-", inputs) : front + " | ";
  if (!summary.grid.empty()) text = summary.grid + ", ";
  text += fmt::format("{}", fmt::join(summary.widths, "-"));
  if (summary.dag != nullptr) {
    const Graph& graph = *summary.dag->graph;
    const std::vector<int> levels = levels_of(graph);
    text += fmt::format(" graph, {} neurons, {} edges, depth {}, {}", graph.nodes, graph.edges(),
                        *std::max_element(levels.begin(), levels.end()),
                        kActivationNames[static_cast<int>(summary.dag->activation)]);
  } else if (summary.activations.size() > 1) {
    const Activation hidden = summary.norm ? summary.norm->activation : summary.activations[0];
    text += fmt::format(" {}", kActivationNames[static_cast<int>(hidden)]);
  }
  if (summary.norm) text += ", layer norm";
  if (summary.dueling) text += ", dueling";
  std::vector<bool> noisy;
  each_dense(*this, [&](const DenseLayer& dense) { noisy.push_back(dense.noisy); });
  if (!noisy.empty() && noisy.back()) text += noisy.front() ? ", noisy" : ", noisy head";
  return text + fmt::format(", {} parameters", parameters);
}

}  // namespace hotloop
