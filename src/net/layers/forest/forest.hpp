// A graph transformer (Shi et al. 2021, with edges) over a forest of up to `nodes` nodes:
//   x = [graph features | features of each node | features of each node's incoming edge | parents].
// parents[i] is the index of the parent of node i, -1 for a root, -2 if there is no node i. Nodes
// come first: they end at the first absent node, or at a node that is its own parent, as in a lane
// of zeros. A node whose parent is absent is a root.
//
// Tokens: T_0 = out(norm(GELU(in(graph features)))), T_i = node(features of node i); edges are
// embedded like the graph. In each round every token becomes GELU(norm(T + skip(T) + message)), in
// the last round without GELU. The message to i is softmax attention (q, k, v, heads) over the
// edges j -> i, where the edge's embedding is added to k and v. In a forest this is only v_j + the
// edge: see forest_kernel.cpp.
//
// y = [mean of the T_i, zeros if there are none | T_0], both after a softmax within each of
// `groups` groups (simplicial embedding, Lavoie et al. 2022; 0: none).
#pragma once

#include <vector>

#include "net/layers/dense.hpp"
#include "net/layers/norm.hpp"

namespace hotloop {

struct ForestLayer {
  struct Embedding {
    DenseLayer in;
    NormLayer norm;
    DenseLayer out;
    bool operator==(const Embedding&) const = default;
  };
  struct Round {
    DenseLayer query, key, value;
    std::size_t edge = 0;  // offset of its weights [width, width]; it has no bias
    DenseLayer skip;
    NormLayer norm;
    bool operator==(const Round&) const = default;
  };

  int nodes = 0;
  int width = 0;  // of a token, a multiple of 8
  int heads = 0;  // divides the width
  int groups = 0;
  Embedding graph = {};
  DenseLayer node = {};
  Embedding edge = {};
  std::vector<Round> rounds = {};

  int nodes_at() const { return graph.in.in; }  // features
  int edges_at() const { return nodes_at() + nodes * node.in; }
  int parents_at() const { return edges_at() + nodes * edge.in.in; }
  int inputs() const { return parents_at() + nodes; }
  int outputs() const { return 2 * width; }
  // Its tensors are contiguous.
  std::size_t first_parameter() const { return graph.in.weight; }
  std::size_t last_parameter() const { return rounds.back().norm.shift + width; }
  bool operator==(const ForestLayer&) const = default;
};

struct ForestShape {
  int nodes = 0;  // maximum
  int graph_features = 0, node_features = 0, edge_features = 0;
  int width = 0;  // a multiple of 8
  int rounds = 4;
  int heads = 4;    // divides the width
  int groups = 16;  // rounded down to a divisor of the width
};
ForestLayer forest_layer(const ForestShape& shape);

void each_tensor(ForestLayer& layer, const TensorVisitor& visit);
void initialise(const ForestLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const ForestLayer& layer);
LayerMemory memory_of(const ForestLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const ForestLayer& layer);

}  // namespace hotloop
