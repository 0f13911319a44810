#include "net/structure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

#include "net/lanes.hpp"

namespace hotloop {
namespace {

// Appends layers, and hands out their places in the flat array.
class Builder {
 public:
  Builder(Structure& structure, const NetOptions& options)
      : structure_(structure), options_(options) {}

  void dense(int in, int out, Activation activation, bool noisy) {
    structure_.layers.emplace_back(make_dense(in, out, activation, noisy));
  }

  void conv(const GridShape& grid, int out) {
    ConvLayer layer{.height = grid.height, .width = grid.width, .in = grid.channels, .out = out};
    layer.stride = round_up(layer.fan_in(), kLaneStep);
    layer.activation = options_.activation;
    layer.weight = matrix(out, layer.fan_in(), layer.stride);
    layer.bias = vector(out);
    structure_.layers.emplace_back(layer);
  }

  void streams(int in, int value, int advantage, bool split_input, Activation activation,
               bool noisy) {
    structure_.layers.emplace_back(
        StreamsLayer{.value = make_dense(in, value, activation, noisy),
                     .advantage = make_dense(in, advantage, activation, noisy),
                     .split_input = split_input});
  }

  void norm(int width, Activation activation) {
    NormLayer layer{.width = width, .activation = activation};
    layer.scale = vector(width);
    layer.shift = vector(width);
    structure_.layers.emplace_back(layer);
  }

  void dueling(int actions, int atoms) {
    structure_.layers.emplace_back(DuelingLayer{.actions = actions, .atoms = atoms});
  }

  void dag(int in, int out) {
    const GraphOptions& options = options_.graph;
    DagLayer layer{.graph = std::make_shared<const Graph>(generate_graph(options, in, out)),
                   .activation = options_.activation,
                   .activate_outputs = options.activate_outputs,
                   .train_biases = options.train_biases,
                   .seed = options.seed};
    layer.weight = vector(layer.graph->edges());
    layer.bias = vector(layer.computed());
    structure_.layers.emplace_back(std::move(layer));
  }

 private:
  DenseLayer make_dense(int in, int out, Activation activation, bool noisy) {
    const int stride = round_up(in, kLaneStep);
    DenseLayer layer{.in = in, .out = out, .stride = stride, .activation = activation};
    layer.weight = matrix(out, in, stride);
    layer.bias = vector(out);
    if (noisy) {
      layer.noisy = true;
      layer.weight_sigma = matrix(out, in, stride);
      layer.bias_sigma = vector(out);
      layer.initial_sigma = static_cast<float>(options_.noisy_sigma / std::sqrt(in));
    }
    return layer;
  }
  std::size_t matrix(int rows, int columns, int stride) {
    structure_.parameters += static_cast<std::size_t>(rows) * columns;
    return take(static_cast<std::size_t>(rows) * stride);
  }
  std::size_t vector(int size) {
    structure_.parameters += size;
    return take(size);
  }
  std::size_t take(std::size_t floats) {
    constexpr std::size_t kFloatsPerLine = 16;  // tensors start on cache lines
    const std::size_t offset = structure_.storage;
    structure_.storage += (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
    return offset;
  }

  Structure& structure_;
  const NetOptions& options_;
};

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

std::vector<TensorInfo> tensors_of(const StreamsLayer& layer) {
  std::vector<TensorInfo> list;
  const auto add = [&](const char* stream, const DenseLayer& dense) {
    for (TensorInfo& tensor : tensors_of(dense)) {
      tensor.name = fmt::format("{}.{}", stream, tensor.name);
      list.push_back(std::move(tensor));
    }
  };
  add("value", layer.value);
  add("advantage", layer.advantage);
  return list;
}

std::vector<TensorInfo> tensors_of(const NormLayer& layer) {
  return {{"scale", layer.scale, 1, layer.width, 0}, {"shift", layer.shift, 1, layer.width, 0}};
}

std::vector<TensorInfo> tensors_of(const DuelingLayer&) { return {}; }

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
                   const GridShape& grid) {
  Structure structure{.inputs = inputs, .outputs = actions * atoms, .layers = {}};
  Builder add(structure, options);
  int width = inputs;
  for (GridShape in = grid; const int channels : options.channels) {
    assert(grid.size() == inputs && inputs > 0);
    add.conv(in, channels);
    in.channels = channels;
    width = in.size();
  }
  if (options.graph.kind != GraphKind::none) {
    assert(!options.layer_norm && options.noisy == Noisy::none && options.dueling_hidden.empty());
    add.dag(width, (options.dueling ? 1 + actions : actions) * atoms);
    if (options.dueling) add.dueling(actions, atoms);
    return structure;
  }
  for (const int hidden : options.hidden) {
    add.dense(width, hidden, options.layer_norm ? Activation::linear : options.activation,
              options.noisy == Noisy::all);
    if (options.layer_norm) add.norm(hidden, options.activation);
    width = hidden;
  }
  const bool noisy_head = options.noisy != Noisy::none;
  if (options.dueling_hidden.empty()) {
    add.dense(width, (options.dueling ? 1 + actions : actions) * atoms, Activation::linear,
              noisy_head);
  } else {
    assert(options.dueling && !options.layer_norm);
    bool split = false;
    for (const int hidden : options.dueling_hidden) {
      add.streams(width, hidden, hidden, split, options.activation, options.noisy == Noisy::all);
      width = hidden;
      split = true;
    }
    add.streams(width, atoms, actions * atoms, split, Activation::linear, noisy_head);
  }
  if (options.dueling) add.dueling(actions, atoms);
  return structure;
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
  Summary summary;
  for (const Layer& layer : layers) std::visit(summary, layer);
  summary.widths.back() = fmt::format("{}", outputs);
  std::string text = summary.grid.empty() ? fmt::format("{}-", inputs) : summary.grid + ", ";
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
