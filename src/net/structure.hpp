// The structure of a network: a list of layers of several kinds, immutable, and where each tensor
// lies in the flat parameter array.
//
// All numbers that a sample passes through, its features, lie in one row: the observation first, then
// what the layers compute. Each layer reads one stretch of that row and writes another. In a plain
// network the stretches follow each other; branches read parts of the observation, and where their
// results lie side by side, the stretch over them is their concatenation.
//
// All parameters of a network are one aligned array of floats. A target copy is a memcpy, an
// optimiser step one loop, an all-reduce one call. Weights are [out, in] with rows padded to a
// multiple of 8 floats; the padding is zero, has zero gradient, and so stays zero.
//
// To add a kind of layer: its struct and its place in `Layer` here, its tensors in structure.cpp and
// structure_builder.cpp, its start in initialise.cpp, its kernel in layer_kernels.hpp with a file of its
// own, and its slow twin in reference/network.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.hpp"
#include "net/options.hpp"

namespace hotloop {

// y = act(W x + b), for each of `rows` rows of x by itself. A noisy layer has learnt standard deviations
// beside W and b: see noise.hpp.
struct DenseLayer {
  int rows = 1;
  int in = 0;      // of one row
  int out = 0;     // of one row
  int stride = 0;  // floats from one row of W to the next: `in` rounded up to 8
  Activation activation = Activation::linear;
  float gain = 1;          // weights start at this times what the initialiser says
  std::size_t weight = 0;  // offset of W [out, stride] in the flat array
  std::size_t bias = 0;    // offset of b [out]
  bool noisy = false;
  std::size_t weight_sigma = 0;  // noisy only: offset of sigma_W [out, stride]
  std::size_t bias_sigma = 0;    // noisy only: offset of sigma_b [out]
  float initial_sigma = 0;       // noisy only: where every sigma starts

  int inputs() const { return rows * in; }
  int outputs() const { return rows * out; }
  bool operator==(const DenseLayer&) const = default;
};

// y = act(scale * (x - mean) / sqrt(variance + 1e-5) + shift), with the mean and the (biased)
// variance of one sample over its features: layer normalisation, Ba et al. 2016; 1e-5 as in
// PyTorch.
struct NormLayer {
  int width = 0;
  Activation activation = Activation::linear;
  std::size_t scale = 0;  // offset of scale [width]
  std::size_t shift = 0;  // offset of shift [width]

  int inputs() const { return width; }
  int outputs() const { return width; }
  bool operator==(const NormLayer&) const = default;
};
inline constexpr float kNormEpsilon = 1e-5f;

// A convolution of 3 x 3 filters over a grid, with zeros around it, stride 1:
//   y[r, s, o] = act(b[o] + sum over i, j, c of W[o, i, j, c] x[r + i - 1, s + j - 1, c]).
// Features are channel-last, (row * width + column) * channels + channel, in and out: the three
// neighbours within a row are one contiguous stretch, which meets one of a row of W.
struct ConvLayer {
  int height = 0;
  int width = 0;
  int in = 0;      // channels
  int out = 0;     // channels
  int stride = 0;  // floats from one row of W to the next: 9 * in rounded up to 8
  Activation activation = Activation::linear;
  std::size_t weight = 0;  // offset of W [out, stride], a row being [3, 3, in]
  std::size_t bias = 0;    // offset of b [out]

  int positions() const { return height * width; }
  int fan_in() const { return 9 * in; }
  int inputs() const { return positions() * in; }
  int outputs() const { return positions() * out; }
  bool operator==(const ConvLayer&) const = default;
};

// Two dense layers side by side, y = [value(x) | advantage(x)], which share nothing but x; with
// `split_input` not even that: x = [x of value | x of advantage].
struct StreamsLayer {
  DenseLayer value;
  DenseLayer advantage;
  bool split_input = false;

  int inputs() const { return split_input ? value.in + advantage.in : value.in; }
  int outputs() const { return value.out + advantage.out; }
  bool operator==(const StreamsLayer&) const = default;
};

// The dueling head of Wang et al. 2016, per atom k: from x = [V (atoms) | A (actions x atoms)],
// y[a, k] = V[k] + A[a, k] - mean of A[., k]. It has no parameters.
struct DuelingLayer {
  int actions = 0;
  int atoms = 0;

  int inputs() const { return (1 + actions) * atoms; }
  int outputs() const { return actions * atoms; }
  bool operator==(const DuelingLayer&) const = default;
};

// Additive attention (Bahdanau et al. 2015) over the rows h_i of x:
//   s_i = v . tanh(W h_i + b) + c,   w = softmax over i of s,   y = sum over i of w_i h_i.
struct AttentionLayer {
  DenseLayer hidden;  // W, b
  DenseLayer score;   // v, c

  int rows() const { return hidden.rows; }
  int width() const { return hidden.in; }
  int inputs() const { return hidden.inputs(); }
  int outputs() const { return width(); }
  bool operator==(const AttentionLayer&) const = default;
};

// y = x, to where it is needed.
struct CopyLayer {
  int width = 0;

  int inputs() const { return width; }
  int outputs() const { return width; }
  bool operator==(const CopyLayer&) const = default;
};

// y = its parameters, whatever the observation: what is learnt but depends on nothing.
struct ConstantLayer {
  int width = 0;
  float initial = 0;
  std::size_t value = 0;  // offset of value [width]

  int inputs() const { return 0; }
  int outputs() const { return width; }
  bool operator==(const ConstantLayer&) const = default;
};

// A graph of neurons (graph.hpp): in the order of the graph, neuron n that is no input has
//   a[n] = act(b[n] + sum over its predecessors q of w[q -> n] a[q]),
// and x are the a of the inputs, y those of the outputs. Outputs may go without the activation.
struct DagLayer {
  std::shared_ptr<const Graph> graph = {};
  Activation activation = Activation::leaky_relu;
  bool activate_outputs = false;
  bool train_biases = true;  // or their gradient is zero
  std::uint64_t seed = 0;    // of Initialiser::small_world
  std::size_t weight = 0;    // offset of w [edges], by the number of the edge
  std::size_t bias = 0;      // offset of b [nodes - inputs]

  int inputs() const { return graph->inputs; }
  int outputs() const { return graph->outputs; }
  int computed() const { return graph->nodes - graph->inputs; }
  bool operator==(const DagLayer& other) const;  // of the graphs themselves
};
inline constexpr float kDagLeakySlope = 0.1f;  // of leaky ReLU in graphs: the topology DQN's

// A graph transformer (Shi et al. 2021, with edges) over a forest of up to `nodes` nodes:
// x = [graph features | features of each node | of the edge that leads to each node | parents]. parents[i]
// is the index of the node that an edge joins to node i, -1 for a root, -2 if there is no node i. Nodes
// fill the front: the first that is absent ends them, or one that is its own parent, as in a lane of
// zeros. A parent that is absent is none.
//
// Tokens: T_0 = out(norm(GELU(in(graph features)))), T_i = node(features of node i); edges are embedded like
// the graph. In each round every token becomes GELU(norm(T + skip(T) + message)), after the last round
// without GELU; the message of an edge j -> i is softmax attention (q, k, v, heads) over the edges into i,
// where the edge's embedding is added to k and v. Of this, forest.cpp needs only v_j + the edge.
// y = [mean of the T_i, zeros if there is none | T_0], both after a softmax within each of `groups` groups
// (simplicial embedding, Lavoie et al. 2022; 0: none).
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
  // Its tensors lie one after the other.
  std::size_t first_parameter() const { return graph.in.weight; }
  std::size_t last_parameter() const { return rounds.back().norm.shift + width; }
  bool operator==(const ForestLayer&) const = default;
};

using Layer = std::variant<DenseLayer, ConvLayer, NormLayer, StreamsLayer, DuelingLayer, DagLayer,
                           AttentionLayer, CopyLayer, ConstantLayer, ForestLayer>;

inline int inputs_of(const Layer& layer) {
  return std::visit([](const auto& kind) { return kind.inputs(); }, layer);
}
inline int outputs_of(const Layer& layer) {
  return std::visit([](const auto& kind) { return kind.outputs(); }, layer);
}

// Where a layer reads and writes: the first of its features.
struct Place {
  int from = 0;
  int to = 0;
  bool operator==(const Place&) const = default;
};

struct Structure {
  int inputs = 0;
  int outputs = 0;
  std::vector<Layer> layers = {};
  std::vector<Place> places = {};  // [layers]
  int outputs_at = 0;              // the first of the features that are the outputs
  int features = 0;                // inputs and what all layers compute
  std::string front = {};          // branches in words: "dc 128-64 | ..."; empty if there are none
  int front_layers = 0;            // how many layers they have
  std::string rest = {};           // the other layers in words, where describe() cannot tell
  std::size_t storage = 0;         // floats in the flat array, padding included
  std::size_t parameters = 0;      // real parameters

  bool operator==(const Structure&) const = default;
  // Whether layer i must say how the loss depends on its x: not if that is the observation alone.
  bool wants_input_gradient(std::size_t i) const {
    return places[i].from + inputs_of(layers[i]) > inputs;
  }
  // "4-64-64-2 relu, layer norm, dueling, 4931 parameters"; streams are "10-128-(128+128)-3",
  // branches "a 8-8 | b 4x8-8 | 16-2", convolutions "10x10x3 conv 32-64-64, 256-3", and graphs
  // "4-32-2 graph, 38 neurons, 172 edges, depth 30, leaky_relu, 206 parameters".
  std::string describe() const;
};

// Calls visit(dense) for every dense layer that can be noisy, those of streams included, in the order of
// their tensors.
template <class F>
void each_dense(const Structure& structure, F&& visit) {
  for (const Layer& layer : structure.layers) {
    if (const auto* dense = std::get_if<DenseLayer>(&layer)) visit(*dense);
    if (const auto* streams = std::get_if<StreamsLayer>(&layer)) {
      visit(streams->value);
      visit(streams->advantage);
    }
  }
}

// An observation that is a grid, channel-last.
struct GridShape {
  int height = 0;
  int width = 0;
  int channels = 0;

  int size() const { return height * width * channels; }
};

// A named part of the observation: [rows, width], a vector being one row.
struct InputPart {
  std::string name;
  int rows = 1;
  int width = 0;
};

// A multilayer perceptron with options.hidden between its inputs and actions * atoms outputs;
// output a * atoms + k is atom k of action a. With options.channels, convolutions come first: the
// inputs are then the grid. With options.branches, these come first, and the hidden layers read the last
// of them; `parts` lie in the observation one after the other. With options.graph, a graph takes the
// place of the hidden layers and of the last one. Throws UsageError if the branches make no sense.
Structure make_mlp(int inputs, int actions, const NetOptions& options, int atoms = 1,
                   const GridShape& grid = {}, std::span<const InputPart> parts = {});

// What an actor-critic puts out: [policy | free | values].
struct ActorCriticShape {
  int policy = 0;          // what the network says of the policy
  int free = 0;            // what is learnt of the policy but depends on nothing
  float free_initial = 0;  // where that starts
  int values = 1;          // of the state
};

// An actor-critic with options.hidden between what make_mlp's front would give and its outputs. With
// options.separate the values have hidden layers of their own; with options.value_from they read that
// branch, and the policy the last one. With options.graph, one graph computes both.
Structure make_actor_critic(int inputs, const ActorCriticShape& shape, const NetOptions& options,
                            const GridShape& grid = {}, std::span<const InputPart> parts = {});

// The layers that outputs [first, first + count) depend on; features and parameters keep their places.
Structure only_outputs(const Structure& structure, int first, int count);

// A tensor by name: [rows, columns], element (r, c) at offset + r * stride + c. A vector has one
// row, and stride 0.
struct TensorInfo {
  std::string name;  // layer<i>.weight .bias .weight_sigma .bias_sigma .scale .shift, in streams
      // layer<i>.value.weight .advantage.weight and so on, in attention .hidden.weight
      // and .score.weight, of constants layer<i>.value, in forests .graph_in.weight .round0.query.weight and so on
  std::size_t offset = 0;
  int rows = 0;
  int columns = 0;
  int stride = 0;

  bool is_vector() const { return stride == 0; }
  std::size_t size() const { return static_cast<std::size_t>(rows) * columns; }
};

// All tensors of a network, in the order of its layers; i is the index in the list of layers.
std::vector<TensorInfo> tensors(const Structure& structure);

// Fills `parameters` (structure.storage floats) from the stream of (seed, initialisation).
void initialise(const Structure& structure, Initialiser init, std::uint64_t seed,
                std::span<float> parameters);

}  // namespace hotloop
