// The options of a network and its optimiser, with the names users write.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule.hpp"
#include "graph/graph_options.hpp"

namespace hotloop {

enum class Activation { linear, relu, leaky_relu, tanh, selu, gelu };
inline constexpr std::array<std::string_view, 6> kActivationNames = {"linear", "relu", "leaky_relu",
                                                                     "tanh",   "selu", "gelu"};

// How weights start. Biases start at zero, except with `pytorch` and `small_world`, which draw them
// like their weights. `small_world` is for graphs only.
enum class Initialiser { pytorch, glorot, he, orthogonal, small_world };
inline constexpr std::array<std::string_view, 5> kInitialiserNames = {"pytorch", "glorot", "he",
                                                                      "orthogonal", "small_world"};

enum class OptimiserKind { adam, adamw, rmsprop, sgd };
inline constexpr std::array<std::string_view, 4> kOptimiserNames = {"adam", "adamw", "rmsprop",
                                                                    "sgd"};

// Which dense layers have noisy weights: none, the last one only (with dueling streams the last of
// each), or all. Convolutions are never noisy.
enum class Noisy { none, head, all };
inline constexpr std::array<std::string_view, 3> kNoisyNames = {"none", "head", "all"};

// A branch of a network: layers with a name, which read parts of the observation or earlier
// branches. Its layers are written in words: see branches.hpp.
struct Branch {
  std::string name;
  std::vector<std::string> from;    // several are joined
  std::vector<std::string> layers;  // "dense 64", "flatten", "attention 128"
  bool operator==(const Branch&) const = default;
};

struct NetOptions {
  std::vector<Branch> branches = {};         // the last one replaces the observation
  std::vector<int> channels = {};            // of 3x3 convolutions before the hidden layers
  std::vector<int> hidden = {64, 64};        // widths of the hidden layers
  Activation activation = Activation::relu;  // after every hidden layer; the output is linear
  Initialiser init = Initialiser::pytorch;
  bool layer_norm = false;  // normalise every hidden dense layer before its activation
  double dropout = 0;       // make_mlp: share that training passes drop in each one
  bool batch_norm = false;  // make_mlp: batch renormalisation of input and hidden layers
  bool dueling = false;     // the head estimates a state value and advantages
  std::vector<int> dueling_hidden = {};  // hidden widths of each of these two streams
  Noisy noisy = Noisy::none;
  double noisy_sigma = 0.5;  // stds start at noisy_sigma / sqrt(inputs of the layer)
  GraphOptions graph = {};   // a graph of neurons instead of the hidden layers
  // Actor-critics.
  bool separate = false;        // the values have their own hidden layers
  std::string value_from = {};  // the branch that the values read; empty = the last one
  double policy_gain = 0.01;    // factor on the initial weights of the policy's last layer
};

struct OptimiserOptions {
  OptimiserKind kind = OptimiserKind::adam;
  Schedule learning_rate = constant(1e-3);
  float beta1 = 0.9f;       // adam, adamw: decay of the first moment
  float beta2 = 0.999f;     // adam, adamw: decay of the second moment
  float decay = 0.99f;      // rmsprop: decay of the squared gradient
  float momentum = 0;       // sgd, rmsprop
  float epsilon = 1e-8f;    // added to the root of the second moment
  float weight_decay = 0;   // adamw: decoupled; sgd, adam, rmsprop: added to the gradient
  float max_grad_norm = 0;  // global gradient norm above which gradients are scaled; 0 = off
};

}  // namespace hotloop
