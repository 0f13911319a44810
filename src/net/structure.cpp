#include "net/structure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <hotloop/error.hpp>
#include <optional>

#include "graph/graph.hpp"
#include "net/branches.hpp"
#include "net/structure_builder.hpp"

namespace hotloop {
namespace {

class ListTensors final : public TensorVisitor {
 public:
  ListTensors(std::vector<TensorInfo>& list) : list_(list) {}
  void matrix(const std::string& name, std::size_t& offset, int rows, int columns) const override {
    list_.push_back({name, offset, rows, columns, padded_row(columns)});
  }
  void vector(const std::string& name, std::size_t& offset, int size) const override {
    list_.push_back({name, offset, 1, size, 0});
  }
  void statistic(const std::string& name, std::size_t& offset, int size,
                 const Limits& limits) const override {
    list_.push_back({name, offset, 1, size, 0, limits});
  }

 private:
  std::vector<TensorInfo>& list_;
};

// What describe() reports about the layers.
struct Summary {
  std::string grid;                     // "10x10x3 conv 32-64"
  std::vector<std::string> widths;      // of the layers after it; the last one is the head
  std::vector<Activation> activations;  // of all these
  const NormLayer* norm = nullptr;
  const DagLayer* dag = nullptr;
  const DropoutLayer* dropout = nullptr;
  bool dueling = false, batch_norm = false;

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
  void operator()(const DropoutLayer& layer) { dropout = &layer; }
  void operator()(const BatchNormLayer&) { batch_norm = true; }
  void operator()(const DagLayer& layer) {
    widths = {fmt::format("{}", layer.graph->hidden()), fmt::format("{}", layer.outputs())};
    dag = &layer;
  }
  void operator()(const auto&) {}  // others are in branches, which describe themselves
};

}  // namespace

Structure make_mlp(int inputs, int actions, const NetOptions& options, int atoms,
                   const GridShape& grid, std::span<const InputPart> parts) {
  Structure structure{.inputs = inputs, .outputs = actions * atoms};
  StructureBuilder build(structure);
  const Slice front = add_front(options, grid, parts, structure, build).last;
  int at = front.at, width = front.size();  // what the next layer reads
  const auto add = [&](Layer layer) {
    width = outputs_of(layer);
    at = build.add(std::move(layer), at);
  };
  const auto dense = [&](int in, int out, Activation activation, bool noisy) {
    return dense_layer(options, in, out, activation, noisy);
  };
  const int head = (options.dueling ? 1 + actions : actions) * atoms;
  const bool noisy = options.noisy == Noisy::all, noisy_head = options.noisy != Noisy::none;
  if (options.graph.kind != GraphKind::none) {
    assert(!options.layer_norm && !noisy_head && options.dueling_hidden.empty());
    assert(options.dropout == 0 && !options.batch_norm);
    add(dag_layer(options.graph, options.activation, width, head));
  } else {
    if (options.batch_norm) add(BatchNormLayer{.width = width});
    for (const int hidden : options.hidden) {
      add(dense(width, hidden, options.layer_norm ? Activation::linear : options.activation,
                noisy));
      if (options.dropout > 0) add(DropoutLayer{.width = hidden, .rate = options.dropout});
      if (options.layer_norm) add(NormLayer{.width = hidden, .activation = options.activation});
      if (options.batch_norm) add(BatchNormLayer{.width = hidden});
    }
    if (options.dueling_hidden.empty()) {
      add(dense(width, head, Activation::linear, noisy_head));
    } else {
      assert(options.dueling && !options.layer_norm && options.dropout == 0 && !options.batch_norm);
      bool split = false;
      for (const int hidden : options.dueling_hidden) {
        const DenseLayer half = dense(split ? width / 2 : width, hidden, options.activation, noisy);
        add(StreamsLayer{.value = half, .advantage = half, .split_input = split});
        split = true;
      }
      const auto last = [&](int out) {
        return dense(width / 2, out, Activation::linear, noisy_head);
      };
      add(StreamsLayer{
          .value = last(atoms), .advantage = last(actions * atoms), .split_input = split});
    }
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
  const ListTensors list(all);
  for (std::size_t i = 0; i < structure.layers.size(); ++i) {
    const InnerTensors named(fmt::format("layer{}", i), list);
    Layer layer = structure.layers[i];  // a copy: each_tensor may set offsets
    std::visit([&](auto& kind) { each_tensor(kind, named); }, layer);
  }
  return all;
}

void check_limits(const Structure& structure, std::span<const float> parameters,
                  std::string_view name) {
  for (const TensorInfo& info : tensors(structure)) {
    for (int r = 0; r < info.rows; ++r) {
      const auto row =
          parameters.subspan(info.offset + static_cast<std::size_t>(r) * info.stride, info.columns);
      const std::optional<std::size_t> at = info.limits.first_outside(row);
      if (!at) continue;
      throw RunError(fmt::format("{}: {}: number {} is {}; allowed: {}", name, info.name, *at,
                                 row[*at], info.limits.text()));
    }
  }
}

bool Structure::needs_whole_batch() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) {
    return std::holds_alternative<BatchNormLayer>(layer);
  });
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
  if (summary.dropout) text += fmt::format(", dropout {}", summary.dropout->rate);
  if (summary.norm) text += ", layer norm";
  if (summary.batch_norm) text += ", batch norm";
  if (summary.dueling) text += ", dueling";
  std::vector<bool> noisy;
  each_dense(*this, [&](const DenseLayer& dense) { noisy.push_back(dense.noisy); });
  if (!noisy.empty() && noisy.back()) text += noisy.front() ? ", noisy" : ", noisy head";
  return text + fmt::format(", {} parameters", parameters);
}

}  // namespace hotloop
