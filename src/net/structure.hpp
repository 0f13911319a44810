// The structure of a network: an immutable list of layers, and the offset of each tensor in the
// flat parameter array.
//
// All numbers computed for a sample, its features, are in one row: the observation first, then the
// outputs of the layers. Each layer reads one slice of that row and writes another. In a plain
// network the slices follow each other. Branches read parts of the observation; where their results
// are adjacent, the slice over them is their concatenation.
//
// All parameters of a network are one aligned array of floats. A target copy is a memcpy, an
// optimiser step one loop, an all-reduce one call. Weights are [out, in] with rows padded to a
// multiple of 8 floats; the padding is zero, has zero gradient, and so stays zero.
//
// layers/layer.hpp says what a kind of layer is made of, and how to add one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/limits.hpp"
#include "net/layers/attention.hpp"
#include "net/layers/batch_norm.hpp"
#include "net/layers/constant.hpp"
#include "net/layers/conv.hpp"
#include "net/layers/copy.hpp"
#include "net/layers/dag.hpp"
#include "net/layers/dense.hpp"
#include "net/layers/dropout.hpp"
#include "net/layers/dueling.hpp"
#include "net/layers/forest/forest.hpp"
#include "net/layers/norm.hpp"
#include "net/layers/streams.hpp"
#include "net/options.hpp"

namespace hotloop {

template <LayerKind... Kinds>
using OneOf = std::variant<Kinds...>;
using Layer =
    OneOf<DenseLayer, ConvLayer, NormLayer, StreamsLayer, DuelingLayer, DagLayer, AttentionLayer,
          CopyLayer, ConstantLayer, ForestLayer, DropoutLayer, BatchNormLayer>;

inline int inputs_of(const Layer& layer) {
  return std::visit([](const auto& kind) { return kind.inputs(); }, layer);
}
inline int outputs_of(const Layer& layer) {
  return std::visit([](const auto& kind) { return kind.outputs(); }, layer);
}

// The first feature that a layer reads, and the first that it writes.
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
  int outputs_at = 0;              // the first output feature
  int features = 0;                // inputs and the outputs of all layers
  std::string front = {};          // branches in words: "dc 128-64 | ..."; empty if there are none
  int front_layers = 0;            // how many layers they have
  std::string rest = {};           // the other layers in words, if describe() cannot derive them
  std::size_t storage = 0;         // floats in the flat array, padding included
  std::size_t trainable = 0;       // of these, what an optimiser may change; then come statistics
  std::size_t parameters = 0;      // trained ones, without padding

  bool operator==(const Structure&) const = default;
  // Whether layer i must compute dL/dx: not if it reads only the observation.
  bool wants_input_gradient(std::size_t i) const {
    return places[i].from + inputs_of(layers[i]) > inputs;
  }
  // Whether training passes need all rows of a batch at once, in one workspace.
  bool needs_whole_batch() const;
  // "4-64-64-2 relu, layer norm, dueling, 4931 parameters"; streams are "10-128-(128+128)-3",
  // branches "a 8-8 | b 4x8-8 | 16-2", convolutions "10x10x3 conv 32-64-64, 256-3", and graphs
  // "4-32-2 graph, 38 neurons, 172 edges, depth 30, leaky_relu, 206 parameters".
  std::string describe() const;
};

// Calls visit(dense) for every dense layer that can be noisy, including those of streams, in the
// order of their tensors.
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
// inputs are then the grid. With options.branches, these come first, and the hidden layers read the
// last of them; `parts` are consecutive in the observation. With options.graph, a graph replaces
// the hidden layers and the last one. Throws UsageError if the branches are invalid.
//
// With options.dropout and options.layer_norm, a hidden layer is dense, dropout, layer norm and
// activation (DroQ; without layer norm, dropout follows the activation, which is the same for
// ReLU). With options.batch_norm, batch norm comes first and after the activation of every hidden
// layer, as in CrossQ's own implementation.
Structure make_mlp(int inputs, int actions, const NetOptions& options, int atoms = 1,
                   const GridShape& grid = {}, std::span<const InputPart> parts = {});

// The outputs of an actor-critic: [policy | free | values].
struct ActorCriticShape {
  int policy = 0;          // outputs of the policy
  int free = 0;            // state-independent parameters of the policy, such as log_std
  float free_initial = 0;  // their initial value
  int values = 1;          // of the state
};

// An actor-critic: the same front as in make_mlp, options.hidden, and the outputs above. With
// options.separate the values have their own hidden layers; with options.value_from they read that
// branch, and the policy reads the last one. With options.graph, one graph computes both.
Structure make_actor_critic(int inputs, const ActorCriticShape& shape, const NetOptions& options,
                            const GridShape& grid = {}, std::span<const InputPart> parts = {});

// The layers that outputs [first, first + count) depend on; features and parameters keep their
// places.
Structure only_outputs(const Structure& structure, int first, int count);

// A tensor by name: [rows, columns], element (r, c) at offset + r * stride + c. A vector has one
// row, and stride 0.
struct TensorInfo {
  // layer<i>.weight .bias .weight_sigma .bias_sigma .scale .shift; of batch norm also .mean
  // .variance .passes; in streams .value.weight .advantage.weight and so on; in attention
  // .hidden.weight .score.weight and so on; of constants .value; in forests .graph_in.weight
  // .round0.query.weight and so on
  std::string name;
  std::size_t offset = 0;
  int rows = 0;
  int columns = 0;
  int stride = 0;
  Limits limits = Limits::finite();

  bool is_vector() const { return stride == 0; }
  std::size_t size() const { return static_cast<std::size_t>(rows) * columns; }
};

// All tensors of a network, statistics included, in the order of its layers; i is the index in the
// list of layers.
std::vector<TensorInfo> tensors(const Structure& structure);

// Throws RunError, which begins with `name`, if a number in the flat array is outside the limits of
// its tensor.
void check_limits(const Structure& structure, std::span<const float> parameters,
                  std::string_view name);

// Fills `parameters` (structure.storage floats) from the stream of (seed, initialisation).
void initialise(const Structure& structure, Initialiser init, std::uint64_t seed,
                std::span<float> parameters);

}  // namespace hotloop
