// Graphs of neurons. A graph has about one neuron per level, so only the batch is parallel: a
// neuron is a row of lanes, and its sum stays in registers, with one broadcast weight and one
// multiply-add per edge and eight lanes.
//
//   forward, in order:     z[n] = b[n] + sum over predecessors q of w[q -> n] a[q], added to b one
//                          by one,  a[n] = act(z[n])
//   backward, in reverse:  da[n] = sum over successors s of w[n -> s] dz[s]
//                          dz[n] = da[n] act'(z[n]),  db[n] = sum over lanes of dz[n]
//                          dw[n -> s] = sum over lanes of dz[s] a[n]
//
// The backward pass goes source by source: each dz[s] is loaded once for both da and dw, and only
// dw is written per edge. The lanes of four edges are summed together.
#include "net/layers/dag.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <vector>

#include "graph/generators.hpp"
#include "graph/numpy_random.hpp"
#include "net/initialise.hpp"
#include "net/kernels/activation_formulas.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

using Array = Eigen::Array<float, kVec, 1>;
inline Array to_array(Vec v) { return Eigen::Map<const Array>(reinterpret_cast<const float*>(&v)); }
inline Vec to_vec(const Array& a) { return load(a.data()); }

template <Activation kActivation>
inline Vec activate(Vec z) {
  return to_vec(activation_of<kActivation>(to_array(z), kDagLeakySlope));
}

// Where GELU's slope was kept.
const float* slope_at(const BackwardBlock& b, int place) {
  return b.kept == nullptr ? nullptr : b.kept + place;
}

class DagKernel final : public LayerKernel {
 public:
  explicit DagKernel(const DagLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return 0; }

 private:
  // One neuron and the range of edges that it sums over: incoming edges in the forward pass,
  // outgoing edges in the backward pass.
  struct Step {
    std::int32_t node, first, last;
  };
  struct OutEdge {
    std::int32_t target;  // where its dz begins
    std::int32_t number;
  };
  template <Activation kActivation, int kWidth>
  void compute(std::span<const Step> steps, const ForwardBlock& block, float* rows,
               int first) const;
  // kLearns: the gradient of the parameters is wanted.
  template <Activation kActivation, int kWidth, bool kLearns>
  void output_deltas(const BackwardBlock& block) const;
  template <Activation kActivation, int kWidth, bool kLearns>
  void hidden_deltas(const BackwardBlock& block) const;
  template <bool kLearns>
  void all_deltas(const BackwardBlock& block) const;

  DagLayer layer_;
  std::vector<Step> forward_;          // hidden neurons in order, then outputs; edges by number
  std::vector<std::int32_t> sources_;  // [edges], where the row of the source begins
  std::vector<Step> backward_;         // hidden neurons in reverse order, then inputs
  std::vector<OutEdge> out_edges_;     // [edges], by source as in backward_
};

DagKernel::DagKernel(const DagLayer& layer) : layer_(layer) {
  const Graph& graph = *layer.graph;
  for (const int node : graph.order)
    forward_.push_back({node, graph.first[node], graph.first[node + 1]});
  for (const int source : graph.sources) sources_.push_back(source * kLanes);
  // No neuron reads an output, so outputs may come last.
  std::stable_partition(forward_.begin(), forward_.end(),
                        [&](const Step& step) { return !graph.is_output(step.node); });

  // The dz of the nearest target is computed last, so its edge comes last too.
  std::vector<std::vector<OutEdge>> out(graph.nodes);
  for (auto node = graph.order.rbegin(); node != graph.order.rend(); ++node) {
    for (int e = graph.first[*node]; e < graph.first[*node + 1]; ++e)
      out[graph.sources[e]].push_back({(*node - graph.inputs) * kLanes, e});
  }
  const auto add = [&](int node) {
    const auto first = static_cast<std::int32_t>(out_edges_.size());
    out_edges_.insert(out_edges_.end(), out[node].begin(), out[node].end());
    backward_.push_back({node, first, static_cast<std::int32_t>(out_edges_.size())});
  };
  for (auto step = forward_.rbegin() + graph.outputs; step != forward_.rend(); ++step)
    add(step->node);
  for (int node = 0; node < graph.inputs; ++node) add(node);
}

template <Activation kActivation, int kWidth>
void DagKernel::compute(std::span<const Step> steps, const ForwardBlock& b, float* rows,
                        int first) const {
  constexpr int kVecs = kWidth / kVec;
  const int inputs = layer_.graph->inputs;
  const float* weight = b.parameters + layer_.weight;
  const float* bias = b.parameters + layer_.bias - inputs;
  for (const Step& step : steps) {
    Vec z[kVecs];
    for (Vec& v : z) v = broadcast(bias[step.node]);
    for (int e = step.first; e < step.last; ++e) {
      const Vec w = broadcast(weight[e]);
      const float* a = b.inner + sources_[e];
      for (int i = 0; i < kVecs; ++i) z[i] = multiply_add(w, load(a + i * kVec), z[i]);
    }
    float* row = rows + (step.node - first) * kLanes;
    for (int i = 0; i < kVecs; ++i) {
      store(row + i * kVec, activate<kActivation>(z[i]));
      if constexpr (kActivation == Activation::gelu) {
        if (b.kept == nullptr) continue;
        store(b.kept + (step.node - inputs) * kLanes + i * kVec, gelu(z[i]).slope);
      }
    }
  }
}

void DagKernel::forward(const ForwardBlock& b) const {
  const Graph& graph = *layer_.graph;
  const std::span<const Step> steps(forward_);
  const auto hidden = steps.first(graph.hidden()), outputs = steps.last(graph.outputs);
  const int first_output = graph.nodes - graph.outputs;
  std::copy_n(b.x, graph.inputs * kLanes, b.inner);
  with_activation(layer_.activation, [&]<Activation kActivation>() {
    with_width(b.width, [&]<int kWidth>() {
      compute<kActivation, kWidth>(hidden, b, b.inner, 0);
      layer_.activate_outputs ? compute<kActivation, kWidth>(outputs, b, b.y, first_output)
                              : compute<Activation::linear, kWidth>(outputs, b, b.y, first_output);
    });
  });
}

void DagKernel::forward_one(const float* parameters, const float* x, float* y, float* inner) const {
  const Graph& graph = *layer_.graph;
  const int first_output = graph.nodes - graph.outputs;
  const float* weight = parameters + layer_.weight;
  const float* bias = parameters + layer_.bias - graph.inputs;
  std::copy_n(x, graph.inputs, inner);
  with_activation(layer_.activation, [&]<Activation kActivation>() {
    for (const Step& step : forward_) {
      float z = bias[step.node];
      for (int e = step.first; e < step.last; ++e)
        z = multiply_add(weight[e], inner[graph.sources[e]], z);
      const bool is_output = graph.is_output(step.node);
      if (layer_.activate_outputs || !is_output) z = activate<kActivation>(broadcast(z))[0];
      (is_output ? y[step.node - first_output] : inner[step.node]) = z;
    }
  });
}

template <Activation kActivation, int kWidth, bool kLearns>
void DagKernel::output_deltas(const BackwardBlock& b) const {
  constexpr int kVecs = kWidth / kVec;
  float* bias = b.gradient_of(layer_.bias);
  const int first = layer_.graph->hidden();  // index of the first output, without inputs
  for (int o = 0; o < layer_.outputs(); ++o) {
    Vec db = {};
    for (int i = 0; i < kVecs; ++i) {
      const int at = o * kLanes + i * kVec, inner = at + first * kLanes;
      const Vec dz = differentiate<kActivation>(load(b.dy + at), load(b.y + at), slope_at(b, inner),
                                                kDagLeakySlope);
      store(b.scratch + inner, dz);
      db += dz;
    }
    if (kLearns && layer_.train_biases) bias[first + o] += sum(db);
  }
}

template <Activation kActivation, int kWidth, bool kLearns>
void DagKernel::hidden_deltas(const BackwardBlock& b) const {
  constexpr int kVecs = kWidth / kVec;
  float* weight_gradient = b.gradient_of(layer_.weight);
  float* bias = b.gradient_of(layer_.bias);
  const int inputs = layer_.graph->inputs;
  const float* weight = b.parameters + layer_.weight;
  const OutEdge* edges = out_edges_.data();
  float* deltas = b.scratch;
  for (const Step step : backward_) {
    const float* row = b.inner + step.node * kLanes;
    Vec a[kVecs], da[kVecs] = {};
    for (int i = 0; i < kVecs; ++i) a[i] = load(row + i * kVec);
    const auto through = [&](const OutEdge& edge) {  // adds to da; dw is the sum over the result
      const Vec w = broadcast(weight[edge.number]);
      const float* dz = deltas + edge.target;
      Vec dw = {};
      for (int i = 0; i < kVecs; ++i) {
        const Vec d = load(dz + i * kVec);
        da[i] = multiply_add(w, d, da[i]);
        if constexpr (kLearns) dw = multiply_add(a[i], d, dw);
      }
      return dw;
    };
    int e = step.first;
    for (; !kLearns && e < step.last; ++e) through(edges[e]);
    for (; e + 4 <= step.last; e += 4) {
      const Vec first = through(edges[e]), second = through(edges[e + 1]),
                third = through(edges[e + 2]), fourth = through(edges[e + 3]);
      const Four dw = sums(first, second, third, fourth);
      for (int i = 0; i < 4; ++i) weight_gradient[edges[e + i].number] += dw[i];
    }
    for (; e < step.last; ++e) weight_gradient[edges[e].number] += sum(through(edges[e]));
    if (step.node < inputs) {
      for (int i = 0; b.dx != nullptr && i < kVecs; ++i)
        store(b.dx + step.node * kLanes + i * kVec, da[i]);
      continue;
    }
    const int at = (step.node - inputs) * kLanes;
    Vec db = {};
    for (int i = 0; i < kVecs; ++i) {
      const Vec dz =
          differentiate<kActivation>(da[i], a[i], slope_at(b, at + i * kVec), kDagLeakySlope);
      store(deltas + at + i * kVec, dz);
      db += dz;
    }
    if (kLearns && layer_.train_biases) bias[step.node - inputs] += sum(db);
  }
}

template <bool kLearns>
void DagKernel::all_deltas(const BackwardBlock& b) const {
  with_activation(layer_.activation, [&]<Activation kActivation>() {
    with_width(b.width, [&]<int kWidth>() {
      layer_.activate_outputs ? output_deltas<kActivation, kWidth, kLearns>(b)
                              : output_deltas<Activation::linear, kWidth, kLearns>(b);
      hidden_deltas<kActivation, kWidth, kLearns>(b);
    });
  });
}

void DagKernel::backward(const BackwardBlock& b) const {
  if (b.gradient == nullptr) return all_deltas<false>(b);
  if (!b.accumulate) {
    std::fill_n(b.gradient + layer_.weight, layer_.graph->edges(), 0.0f);
    std::fill_n(b.gradient + layer_.bias, layer_.computed(), 0.0f);
  }
  all_deltas<true>(b);
}

// Normal with std 0.1, from the seed of the graph, with the random numbers of the Small-World
// topology DQN in its order: for every neuron, inputs too, a bias and then a weight for each
// predecessor. The biases of inputs are unused, but consume a random number.
void initialise_small_world(const DagLayer& layer, float* weight, float* bias) {
  const Graph& graph = *layer.graph;
  NumpyRandom random(layer.seed);
  const auto draw = [&] { return static_cast<float>(0.1 * random.normal()); };
  for (int node = 0; node < graph.nodes; ++node) {
    const float b = draw();
    if (!graph.is_input(node)) bias[node - graph.inputs] = b;
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) weight[e] = draw();
  }
}

}  // namespace

int DagLayer::inputs() const { return graph->inputs; }
int DagLayer::outputs() const { return graph->outputs; }
int DagLayer::computed() const { return graph->nodes - graph->inputs; }

bool DagLayer::operator==(const DagLayer& other) const {
  const auto rest = [](const DagLayer& l) {
    return std::tuple(l.activation, l.activate_outputs, l.train_biases, l.seed, l.weight, l.bias);
  };
  return *graph == *other.graph && rest(*this) == rest(other);
}

DagLayer dag_layer(const GraphOptions& options, Activation activation, int in, int out) {
  return {.graph = std::make_shared<const Graph>(generate_graph(options, in, out)),
          .activation = activation,
          .activate_outputs = options.activate_outputs,
          .train_biases = options.train_biases,
          .seed = options.seed};
}

void each_tensor(DagLayer& layer, const TensorVisitor& visit) {
  visit.vector("weight", layer.weight, layer.graph->edges());
  visit.vector("bias", layer.bias, layer.computed());
}

// Fan-in is the number of predecessors of an edge's target, fan-out the number of successors of its
// source. There is no matrix, so `orthogonal` is the same as `he`. Each neuron draws from its own
// stream, as each row of a dense layer does.
void initialise(const DagLayer& layer, Initialiser init, const Draws& draws, float* parameters) {
  const Graph& graph = *layer.graph;
  float* weight = parameters + layer.weight;
  float* bias = parameters + layer.bias;
  if (init == Initialiser::small_world) return initialise_small_world(layer, weight, bias);
  std::vector<int> successors(graph.nodes);
  for (const int source : graph.sources) ++successors[source];
  for (int node = graph.inputs; node < graph.nodes; ++node) {
    Rng rng = draws.row(node - graph.inputs);
    const int in = std::max(1, graph.first[node + 1] - graph.first[node]);
    const double bound = 1 / std::sqrt(in), sigma = std::sqrt(2.0 / in);
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
      if (init == Initialiser::pytorch) {
        weight[e] = static_cast<float>(rng.uniform(-bound, bound));
      } else if (init == Initialiser::glorot) {
        const double glorot = std::sqrt(6.0 / (in + successors[graph.sources[e]]));
        weight[e] = static_cast<float>(rng.uniform(-glorot, glorot));
      } else {
        weight[e] = static_cast<float>(sigma * rng.normal());
      }
    }
    if (init == Initialiser::pytorch)
      bias[node - graph.inputs] = static_cast<float>(rng.uniform(-bound, bound));
  }
}

double multiply_adds(const DagLayer& layer) { return layer.graph->edges(); }

// The scratch is dz [computed][kLanes].
LayerMemory memory_of(const DagLayer& layer) {
  return {.kept = layer.activation == Activation::gelu ? layer.computed() : 0,
          .scratch = static_cast<std::size_t>(layer.computed()) * kLanes,
          .inner = layer.graph->nodes - layer.graph->outputs,
          .block_gradients = true};
}

std::shared_ptr<const LayerKernel> make_kernel(const DagLayer& layer) {
  return std::make_shared<DagKernel>(layer);
}

}  // namespace hotloop
