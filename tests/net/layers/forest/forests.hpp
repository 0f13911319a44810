// Forests and networks over them, for tests.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/network.hpp"
#include "net/structure_builder.hpp"
#include "tests/net/random_net.hpp"

namespace hotloop {

// A network with only this layer.
inline Structure forest_structure(const ForestShape& shape) {
  const int inputs =
      shape.graph_features + shape.nodes * (shape.node_features + shape.edge_features + 1);
  Structure structure{.inputs = inputs, .outputs = 2 * shape.width};
  StructureBuilder build(structure);
  structure.outputs_at = build.add(forest_layer(shape), 0);
  return structure;
}
inline const ForestLayer& forest_of(const Structure& structure) {
  return std::get<ForestLayer>(structure.layers[0]);
}

// Random parameters, so that scales are not one and shifts not zero; the padding is zero.
inline std::vector<float> random_parameters(const Structure& structure, Rng& rng) {
  std::vector<float> parameters(structure.storage);
  for (const TensorInfo& tensor : tensors(structure)) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c)
        parameters[tensor.offset + r * tensor.stride + c] =
            static_cast<float>(rng.normal() / std::sqrt(tensor.is_vector() ? 4 : tensor.columns));
    }
  }
  return parameters;
}

using Floats = std::vector<float>;

struct TestForest {
  Floats graph;
  std::vector<Floats> nodes, edges;  // the edge to a root is ignored
  std::vector<int> parents;

  // As a row of the observation; the features of absent nodes are `rubbish`.
  Floats row(const ForestLayer& layer, float rubbish = 0) const {
    Floats x(layer.inputs(), rubbish);
    std::copy(graph.begin(), graph.end(), x.begin());
    std::fill(x.begin() + layer.parents_at(), x.end(), -2.0f);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      std::copy(nodes[i].begin(), nodes[i].end(), x.begin() + layer.nodes_at() + i * layer.node.in);
      std::copy(edges[i].begin(), edges[i].end(),
                x.begin() + layer.edges_at() + i * layer.edge.in.in);
      x[layer.parents_at() + i] = static_cast<float>(parents[i]);
    }
    return x;
  }

  // Node i becomes node order[i].
  TestForest permuted(const std::vector<int>& order) const {
    TestForest other = *this;
    for (std::size_t i = 0; i < order.size(); ++i) {
      other.nodes[order[i]] = nodes[i];
      other.edges[order[i]] = edges[i];
      other.parents[order[i]] = parents[i] < 0 ? parents[i] : order[parents[i]];
    }
    return other;
  }
};

inline std::vector<int> random_order(int count, Rng& rng) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  return order;
}

inline TestForest forest_with(const ForestLayer& layer, const std::vector<int>& parents, Rng& rng) {
  TestForest forest{random_floats(layer.graph.in.in, rng), {}, {}, parents};
  for (std::size_t i = 0; i < parents.size(); ++i) {
    forest.nodes.push_back(random_floats(layer.node.in, rng));
    forest.edges.push_back(random_floats(layer.edge.in.in, rng));
  }
  return forest;
}

// Any forest in any order: parents may come after their children.
inline TestForest random_forest(const ForestLayer& layer, int count, Rng& rng) {
  std::vector<int> parents;
  for (int i = 0; i < count; ++i) parents.push_back(static_cast<int>(rng.below(i + 1)) - 1);
  return forest_with(layer, parents, rng).permuted(random_order(count, rng));
}

}  // namespace hotloop
