// The shape of a forest layer, its tensors and their initial values. forest_kernel.cpp has the
// passes.
#include "net/layers/forest/forest.hpp"

#include <limits>
#include <string>

#include "net/initialise.hpp"

namespace hotloop {

ForestLayer forest_layer(const ForestShape& shape) {
  const int width = shape.width;
  ForestLayer layer{
      .nodes = shape.nodes, .width = width, .heads = shape.heads, .groups = shape.groups};
  while (layer.groups > 0 && width % layer.groups != 0) --layer.groups;
  const auto linear = [&](int in) -> DenseLayer { return {.in = in, .out = width}; };
  const auto embedding = [&](int in) -> ForestLayer::Embedding {
    return {.in = {.in = in, .out = width, .activation = Activation::gelu},
            .norm = {.width = width},
            .out = linear(width)};
  };
  layer.graph = embedding(shape.graph_features);
  layer.node = linear(shape.node_features);
  layer.edge = embedding(shape.edge_features);
  const ForestLayer::Round round{.query = linear(width),
                                 .key = linear(width),
                                 .value = linear(width),
                                 .skip = linear(width),
                                 .norm = {.width = width}};
  layer.rounds.assign(shape.rounds, round);
  return layer;
}

void each_tensor(ForestLayer& layer, const TensorVisitor& visit) {
  const auto embedding = [&](const std::string& name, ForestLayer::Embedding& maps) {
    each_tensor(maps.in, InnerTensors(name + "_in", visit));
    each_tensor(maps.norm, InnerTensors(name + "_norm", visit));
    each_tensor(maps.out, InnerTensors(name + "_out", visit));
  };
  embedding("graph", layer.graph);
  each_tensor(layer.node, InnerTensors("node_in", visit));
  embedding("edge", layer.edge);
  for (std::size_t r = 0; r < layer.rounds.size(); ++r) {
    ForestLayer::Round& round = layer.rounds[r];
    const InnerTensors in_round("round" + std::to_string(r), visit);
    each_tensor(round.query, InnerTensors("query", in_round));
    each_tensor(round.key, InnerTensors("key", in_round));
    each_tensor(round.value, InnerTensors("value", in_round));
    in_round.matrix("edge.weight", round.edge, layer.width, layer.width);
    each_tensor(round.skip, InnerTensors("skip", in_round));
    each_tensor(round.norm, InnerTensors("norm", in_round));
  }
}

// The linear maps within the rounds start as `pytorch` with any initialiser.
void initialise(const ForestLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  Draws next = draws;
  const auto dense = [&](const DenseLayer& linear, Initialiser by) {
    initialise(linear, by, next, parameters);
    next = next.after(linear.out);
  };
  const auto embedding = [&](const ForestLayer::Embedding& maps) {
    dense(maps.in, init);
    initialise(maps.norm, init, next, parameters);
    dense(maps.out, init);
  };
  embedding(layer.graph);
  dense(layer.node, init);
  embedding(layer.edge);
  for (const ForestLayer::Round& round : layer.rounds) {
    for (const DenseLayer* linear : {&round.query, &round.key, &round.value, &round.skip})
      dense(*linear, Initialiser::pytorch);
    initialise(Affine{layer.width, layer.width, layer.width, layer.width, Activation::linear,
                      parameters + round.edge, nullptr},
               Initialiser::pytorch, next);
    next = next.after(layer.width);
    initialise(round.norm, init, next, parameters);
  }
}

double multiply_adds(const ForestLayer&) { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace hotloop
