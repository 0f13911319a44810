// Initialisers, by name:
//   pytorch     W, b ~ U(-1/sqrt(in), 1/sqrt(in))                     (torch.nn.Linear's default)
//   glorot      W ~ U(-a, a), a = sqrt(6 / (in + out)), b = 0         (Glorot & Bengio 2010)
//   he          W ~ N(0, 2 / in), b = 0                               (He et al. 2015)
//   orthogonal  W with orthonormal rows or columns, times sqrt(2) where ReLU follows, b = 0
//               (Saxe et al. 2014)
// For a convolution, `in` counts the 9 * channels numbers that an output adds up, and `out` the
// 9 * channels outputs that an input meets; it is orthogonal as a matrix [channels out, 9 * channels].
// A dense layer's `gain` multiplies its weights, and its bias if that is drawn.
// Noisy layers start as Fortunato et al. 2018 say, whatever the initialiser: means as `pytorch`,
// standard deviations at a constant. Norms start as the identity: scale 1, shift 0. The linear maps
// within the rounds of a forest start as `pytorch`, whatever the initialiser.
// In a graph, `in` counts the predecessors of the neuron that a weight leads to, and `out` the successors
// of the one it comes from; a graph has no matrix to be orthogonal, and starts as with `he` instead.
//   small_world  graphs only: w, b ~ N(0, 0.1) in the order and with the random numbers of the Small-World
//                topology DQN, from the seed of the graph
#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include <hotloop/rng.hpp>

#include "graph/numpy_random.hpp"
#include "net/structure.hpp"

namespace hotloop {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The random streams of a layer, one for each row of its weights.
struct Draws {
  std::uint64_t seed;
  std::uint32_t layer;
  int first = 0;

  Rng row(int o) const { return Rng(seed, Purpose::initialisation, layer, first + o); }
  Draws after(int rows) const { return {seed, layer, first + rows}; }
};

// Eigen divides large products, and so orders their sums, by the sizes of the caches: as long as this
// lives they are the same on every CPU.
struct SameCaches {
  std::ptrdiff_t first = Eigen::l1CacheSize(), second = Eigen::l2CacheSize(),
                 third = Eigen::l3CacheSize();
  SameCaches() { Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 8 << 20); }
  ~SameCaches() { Eigen::setCpuCacheSizes(first, second, third); }
  SameCaches(const SameCaches&) = delete;
  SameCaches& operator=(const SameCaches&) = delete;
};

// Q of a Gaussian matrix, with the signs of R's diagonal moved into it, is uniform over all
// orthogonal matrices.
RowMatrix orthogonal(int rows, int columns, const Draws& draws) {
  const int large = std::max(rows, columns);
  const int small = std::min(rows, columns);
  Eigen::MatrixXd gauss(large, small);
  for (int j = 0; j < small; ++j) {
    Rng rng = draws.row(j);
    for (int i = 0; i < large; ++i) gauss(i, j) = rng.normal();
  }
  const SameCaches same;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(gauss);
  Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(large, small);
  for (int j = 0; j < small; ++j) {
    if (qr.matrixQR()(j, j) < 0) q.col(j) *= -1;
  }
  if (rows < columns) return q.transpose();
  return q;
}

bool is_rectifier(Activation a) { return a == Activation::relu || a == Activation::leaky_relu; }

// y = W x (+ b) as an initialiser sees it: what each output adds up, and where W and b lie.
struct Affine {
  int in, out, fan_out, stride;
  Activation activation;
  float* weight;  // [out, stride]
  float* bias;    // [out]; null: there is none
};

void start(const Affine& layer, Initialiser init, const Draws& draws) {
  // Each row of W draws from its own stream; its bias follows where a draw is wanted.
  const auto fill = [&](auto&& draw, bool draw_bias) {
    for (int o = 0; o < layer.out; ++o) {
      Rng rng = draws.row(o);
      float* row = layer.weight + static_cast<std::size_t>(o) * layer.stride;
      for (int i = 0; i < layer.in; ++i) row[i] = static_cast<float>(draw(rng, o, i));
      if (draw_bias && layer.bias != nullptr)
        layer.bias[o] = static_cast<float>(draw(rng, o, layer.in));
    }
  };
  switch (init) {
    case Initialiser::pytorch: {
      const double bound = 1 / std::sqrt(layer.in);
      fill([&](Rng& rng, int, int) { return rng.uniform(-bound, bound); }, true);
      break;
    }
    case Initialiser::glorot: {
      const double bound = std::sqrt(6.0 / (layer.in + layer.fan_out));
      fill([&](Rng& rng, int, int) { return rng.uniform(-bound, bound); }, false);
      break;
    }
    case Initialiser::he: {
      const double deviation = std::sqrt(2.0 / layer.in);
      fill([&](Rng& rng, int, int) { return deviation * rng.normal(); }, false);
      break;
    }
    case Initialiser::orthogonal: {
      const double gain = is_rectifier(layer.activation) ? std::sqrt(2.0) : 1.0;
      const RowMatrix q = orthogonal(layer.out, layer.in, draws);
      fill([&](Rng&, int o, int i) { return gain * q(o, i); }, false);
      break;
    }
    case Initialiser::small_world:
      assert(false);  // there is no graph
      break;
  }
}

void start(const DenseLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  start(Affine{layer.in, layer.out, layer.out, layer.stride, layer.activation,
               parameters + layer.weight, parameters + layer.bias},
        layer.noisy ? Initialiser::pytorch : init, draws);
  if (layer.gain != 1) {
    const auto scale = [&](float& value) { value *= layer.gain; };
    std::for_each_n(parameters + layer.weight, layer.out * layer.stride, scale);
    std::for_each_n(parameters + layer.bias, layer.out, scale);
  }
  if (!layer.noisy) return;
  for (int o = 0; o < layer.out; ++o) {
    std::fill_n(parameters + layer.weight_sigma + static_cast<std::size_t>(o) * layer.stride,
                layer.in, layer.initial_sigma);
  }
  std::fill_n(parameters + layer.bias_sigma, layer.out, layer.initial_sigma);
}

void start(const ConvLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  start(Affine{layer.fan_in(), layer.out, 9 * layer.out, layer.stride, layer.activation,
               parameters + layer.weight, parameters + layer.bias},
        init, draws);
}

// The rows of the second follow those of the first.
void start(const StreamsLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  start(layer.value, init, draws, parameters);
  start(layer.advantage, init, draws.after(layer.value.out), parameters);
}

void start(const AttentionLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  start(layer.hidden, init, draws, parameters);
  start(layer.score, init, draws.after(layer.hidden.out), parameters);
}

void start(const NormLayer& layer, Initialiser, const Draws&, float* parameters) {
  std::fill_n(parameters + layer.scale, layer.width, 1.0f);
}

void start(const ForestLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  Draws next = draws;
  const auto dense = [&](const DenseLayer& linear, Initialiser by) {
    start(linear, by, next, parameters);
    next = next.after(linear.out);
  };
  const auto embedding = [&](const ForestLayer::Embedding& maps) {
    dense(maps.in, init);
    start(maps.norm, init, next, parameters);
    dense(maps.out, init);
  };
  embedding(layer.graph);
  dense(layer.node, init);
  embedding(layer.edge);
  for (const ForestLayer::Round& round : layer.rounds) {
    for (const DenseLayer* linear : {&round.query, &round.key, &round.value, &round.skip})
      dense(*linear, Initialiser::pytorch);
    start(Affine{layer.width, layer.width, layer.width, layer.width, Activation::linear,
                 parameters + round.edge, nullptr},
          Initialiser::pytorch, next);
    next = next.after(layer.width);
    start(round.norm, init, next, parameters);
  }
}

void start(const DuelingLayer&, Initialiser, const Draws&, float*) {}
void start(const CopyLayer&, Initialiser, const Draws&, float*) {}

void start(const ConstantLayer& layer, Initialiser, const Draws&, float* parameters) {
  std::fill_n(parameters + layer.value, layer.width, layer.initial);
}

// For every neuron, inputs too, a bias and then a weight for each predecessor. The biases of inputs mean
// nothing, but have their random number.
void start_small_world(const DagLayer& layer, float* weight, float* bias) {
  const Graph& graph = *layer.graph;
  NumpyRandom random(layer.seed);
  const auto draw = [&] { return static_cast<float>(0.1 * random.normal()); };
  for (int node = 0; node < graph.nodes; ++node) {
    const float b = draw();
    if (!graph.is_input(node)) bias[node - graph.inputs] = b;
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) weight[e] = draw();
  }
}

// Each neuron draws from its own stream, as each row of a dense layer does.
void start(const DagLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  const Graph& graph = *layer.graph;
  float* weight = parameters + layer.weight;
  float* bias = parameters + layer.bias;
  if (init == Initialiser::small_world) return start_small_world(layer, weight, bias);
  std::vector<int> successors(graph.nodes);
  for (const int source : graph.sources) ++successors[source];
  for (int node = graph.inputs; node < graph.nodes; ++node) {
    Rng rng = draws.row(node - graph.inputs);
    const int in = std::max(1, graph.first[node + 1] - graph.first[node]);
    const double bound = 1 / std::sqrt(in), deviation = std::sqrt(2.0 / in);
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
      if (init == Initialiser::pytorch) {
        weight[e] = static_cast<float>(rng.uniform(-bound, bound));
      } else if (init == Initialiser::glorot) {
        const double glorot = std::sqrt(6.0 / (in + successors[graph.sources[e]]));
        weight[e] = static_cast<float>(rng.uniform(-glorot, glorot));
      } else {
        weight[e] = static_cast<float>(deviation * rng.normal());
      }
    }
    if (init == Initialiser::pytorch)
      bias[node - graph.inputs] = static_cast<float>(rng.uniform(-bound, bound));
  }
}

}  // namespace

void initialise(const Structure& structure, Initialiser init, std::uint64_t seed,
                std::span<float> parameters) {
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  for (std::uint32_t index = 0; index < structure.layers.size(); ++index) {
    const Draws draws{seed, index};
    std::visit([&](const auto& layer) { start(layer, init, draws, parameters.data()); },
               structure.layers[index]);
  }
}

}  // namespace hotloop
