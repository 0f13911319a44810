#include "net/structure_builder.hpp"

#include <cmath>

namespace hotloop {

DenseLayer StructureBuilder::dense(int in, int out, Activation activation, bool noisy, int rows) {
  DenseLayer layer{.rows = rows, .in = in, .out = out, .stride = round_up(in, kLaneStep)};
  layer.activation = activation;
  layer.weight = matrix(out, in, layer.stride);
  layer.bias = vector(out);
  if (noisy) {
    layer.noisy = true;
    layer.weight_sigma = matrix(out, in, layer.stride);
    layer.bias_sigma = vector(out);
    layer.initial_sigma = static_cast<float>(options_.noisy_sigma / std::sqrt(in));
  }
  return layer;
}

ConvLayer StructureBuilder::conv(const GridShape& grid, int out) {
  ConvLayer layer{.height = grid.height, .width = grid.width, .in = grid.channels, .out = out};
  layer.stride = round_up(layer.fan_in(), kLaneStep);
  layer.activation = options_.activation;
  layer.weight = matrix(out, layer.fan_in(), layer.stride);
  layer.bias = vector(out);
  return layer;
}

NormLayer StructureBuilder::norm(int width, Activation activation) {
  NormLayer layer{.width = width, .activation = activation};
  layer.scale = vector(width);
  layer.shift = vector(width);
  return layer;
}

StreamsLayer StructureBuilder::streams(int in, int value, int advantage, bool split_input,
                                       Activation activation, bool noisy) {
  return {.value = dense(in, value, activation, noisy),
          .advantage = dense(in, advantage, activation, noisy),
          .split_input = split_input};
}

DagLayer StructureBuilder::dag(int in, int out) {
  const GraphOptions& options = options_.graph;
  DagLayer layer{.graph = std::make_shared<const Graph>(generate_graph(options, in, out)),
                 .activation = options_.activation,
                 .activate_outputs = options.activate_outputs,
                 .train_biases = options.train_biases,
                 .seed = options.seed};
  layer.weight = vector(layer.graph->edges());
  layer.bias = vector(layer.computed());
  return layer;
}

AttentionLayer StructureBuilder::attention(int rows, int width, int units) {
  return {.hidden = dense(width, units, Activation::tanh, false, rows),
          .score = dense(units, 1, Activation::linear, false, rows)};
}

ConstantLayer StructureBuilder::constant(int width, float initial) {
  return {.width = width, .initial = initial, .value = vector(width)};
}

ForestLayer StructureBuilder::forest(const ForestShape& shape) {
  const int width = shape.width;
  ForestLayer layer{
      .nodes = shape.nodes, .width = width, .heads = shape.heads, .groups = shape.groups};
  while (layer.groups > 0 && width % layer.groups != 0) --layer.groups;
  const auto linear = [&](int in) { return dense(in, width, Activation::linear, false); };
  const auto embedding = [&](int in) -> ForestLayer::Embedding {
    return {.in = dense(in, width, Activation::gelu, false),
            .norm = norm(width, Activation::linear),
            .out = linear(width)};
  };
  layer.graph = embedding(shape.graph_features);
  layer.node = linear(shape.node_features);
  layer.edge = embedding(shape.edge_features);
  for (int r = 0; r < shape.rounds; ++r) {
    layer.rounds.push_back({.query = linear(width),
                            .key = linear(width),
                            .value = linear(width),
                            .edge = matrix(width, width, width),
                            .skip = linear(width),
                            .norm = norm(width, Activation::linear)});
  }
  return layer;
}

std::size_t StructureBuilder::matrix(int rows, int columns, int stride) {
  structure_.parameters += static_cast<std::size_t>(rows) * columns;
  return take(static_cast<std::size_t>(rows) * stride);
}

std::size_t StructureBuilder::vector(int size) {
  structure_.parameters += size;
  return take(size);
}

std::size_t StructureBuilder::take(std::size_t floats) {
  constexpr std::size_t kFloatsPerLine = 16;  // tensors start on cache lines
  const std::size_t offset = structure_.storage;
  structure_.storage += (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
  return offset;
}

}  // namespace hotloop
