// Graphs of neurons. A graph has about one neuron per level, so nothing is parallel but the batch: a
// neuron is a row of lanes, and its sum stays in registers, one broadcast weight and one multiply-add
// per edge and eight lanes.
//
//   forward, in order:      z[n] = b[n] + sum over predecessors q of w[q -> n] a[q], one after the
//                           other from b on,   a[n] = act(z[n])
//   backward, in reverse:   da[n] = sum over successors s of w[n -> s] dz[s],   dz[n] = da[n] act'(z[n])
//                           dw[n -> s] = sum over lanes of dz[s] a[n],   db[n] = sum over lanes of dz[n]
//
// Going back source by source, each dz[s] is loaded once for both da and dw, and nothing but dw is
// written per edge: as eight sums, which are added up eight edges at a time at the end.
#ifdef __FMA__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <span>

#include "net/activation_formulas.hpp"
#include "net/lane_arrays.hpp"
#include "net/layer_kernels.hpp"

namespace hotloop {
namespace {

using Vec = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr int kVec = 8;

inline Vec load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline Vec broadcast(float f) { return Vec{f, f, f, f, f, f, f, f}; }

inline Vec multiply_add(Vec a, Vec b, Vec c) {
#ifdef __FMA__
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
// The same bits for one sample.
inline float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

using Array = Eigen::Array<float, kVec, 1>;
inline Array to_array(Vec v) { return Eigen::Map<const Array>(reinterpret_cast<const float*>(&v)); }
inline Vec to_vec(const Array& a) { return load(a.data()); }

template <Activation kActivation>
inline Vec activate(Vec z) {
  return to_vec(activation_of<kActivation>(to_array(z), kDagLeakySlope));
}

// The derivative follows from the output, GELU's was kept.
template <Activation kActivation>
inline Vec differentiate(Vec da, const float* a, const float* slope, int at) {
  if constexpr (kActivation == Activation::gelu) {
    return da * load(slope + at);
  } else {
    return to_vec(times_slope<kActivation>(to_array(da), to_array(load(a)), kDagLeakySlope));
  }
}

// gradient[i] (+)= the sum of partial[i][0 … 7], always added in the same order.
void sum_lanes(const float* partial, int count, bool accumulate, float* gradient) {
  for (int i = 0; i < count; i += kVec) {
    Vec v[kVec];
    for (int k = 0; k < kVec; ++k) v[k] = load(partial + (i + k) * kVec);
    for (int k = 0; k < 4; ++k) {
      const Vec a = v[2 * k], b = v[2 * k + 1];
      v[k] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
             __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int k = 0; k < 2; ++k) {
      const Vec a = v[2 * k], b = v[2 * k + 1];
      v[k] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    const Vec sum = __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11) +
                    __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
    float* to = gradient + i;
    if (i + kVec <= count) {
      store(to, accumulate ? load(to) + sum : sum);
      continue;
    }
    for (int k = 0; i + k < count; ++k) to[k] = accumulate ? to[k] + sum[k] : sum[k];
  }
}

// Where things lie in the scratch of the backward pass, dz [computed][kLanes] being first. Rows of
// partial sums beyond the last stay zero.
struct ScratchPlaces {
  std::size_t weight_sums;  // [edges, rounded up][8]
  std::size_t bias_sums;    // [computed, rounded up][8]
  std::size_t end;

  explicit ScratchPlaces(const DagLayer& layer) {
    const std::size_t edges = round_up(layer.graph->edges(), kVec);
    const std::size_t computed = round_up(layer.computed(), kVec);
    weight_sums = computed * kLanes;
    bias_sums = weight_sums + edges * kVec;
    end = bias_sums + computed * kVec;
  }
};

}  // namespace

DagKernel::DagKernel(const DagLayer& layer) : layer_(layer) {
  const Graph& graph = *layer.graph;
  for (const int node : graph.order)
    forward_.push_back({node, graph.first[node], graph.first[node + 1]});
  for (const int source : graph.sources) sources_.push_back(source * kLanes);
  // Nobody waits for an output: they may come last.
  std::stable_partition(forward_.begin(), forward_.end(),
                        [&](const Step& step) { return !graph.is_output(step.node); });

  // The nearest target is known last, so its edge comes last too.
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

LayerMemory memory_of(const DagLayer& layer) {
  return {.kept = layer.activation == Activation::gelu ? layer.computed() : 0,
          .scratch = ScratchPlaces(layer).end,
          .inner = layer.graph->nodes - layer.graph->outputs};
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
        const Array x = to_array(z[i]);
        store(b.kept + (step.node - inputs) * kLanes + i * kVec,
              to_vec(gelu_slope(x, normal_distribution(x))));
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

// Outputs follow the inner neurons in y, and then move to its front.
void DagKernel::forward_one(const float* parameters, const float* x, float* y) const {
  const Graph& graph = *layer_.graph;
  const float* weight = parameters + layer_.weight;
  const float* bias = parameters + layer_.bias - graph.inputs;
  std::copy_n(x, graph.inputs, y);
  with_activation(layer_.activation, [&]<Activation kActivation>() {
    for (const Step& step : forward_) {
      float z = bias[step.node];
      for (int e = step.first; e < step.last; ++e)
        z = multiply_add(weight[e], y[graph.sources[e]], z);
      const bool active = layer_.activate_outputs || !graph.is_output(step.node);
      y[step.node] = active ? activate<kActivation>(broadcast(z))[0] : z;
    }
  });
  std::copy_n(y + graph.nodes - graph.outputs, graph.outputs, y);
}

template <Activation kActivation, int kWidth>
void DagKernel::output_deltas(const BackwardBlock& b) const {
  constexpr int kVecs = kWidth / kVec;
  float* bias_sums = b.scratch + ScratchPlaces(layer_).bias_sums;
  const int first = layer_.graph->hidden();  // rank of the first output among those that compute
  for (int o = 0; o < layer_.outputs(); ++o) {
    Vec sum = {};
    for (int i = 0; i < kVecs; ++i) {
      const int at = o * kLanes + i * kVec, inner = at + first * kLanes;
      const Vec dz = differentiate<kActivation>(load(b.dy + at), b.y + at, b.kept, inner);
      store(b.scratch + inner, dz);
      sum += dz;
    }
    store(bias_sums + (first + o) * kVec, sum);
  }
}

template <Activation kActivation, int kWidth>
void DagKernel::hidden_deltas(const BackwardBlock& b) const {
  constexpr int kVecs = kWidth / kVec;
  float* weight_sums = b.scratch + ScratchPlaces(layer_).weight_sums;
  float* bias_sums = b.scratch + ScratchPlaces(layer_).bias_sums;
  const int inputs = layer_.graph->inputs;
  const float* weight = b.parameters + layer_.weight;
  for (const Step& step : backward_) {
    const float* row = b.inner + step.node * kLanes;
    Vec a[kVecs], da[kVecs] = {};
    for (int i = 0; i < kVecs; ++i) a[i] = load(row + i * kVec);
    for (int e = step.first; e < step.last; ++e) {
      const auto [target, number] = out_edges_[e];
      const Vec w = broadcast(weight[number]);
      const float* dz = b.scratch + target;
      Vec dw = {};
      for (int i = 0; i < kVecs; ++i) {
        const Vec d = load(dz + i * kVec);
        da[i] = multiply_add(w, d, da[i]);
        dw = multiply_add(a[i], d, dw);
      }
      store(weight_sums + number * kVec, dw);
    }
    if (step.node < inputs) {
      for (int i = 0; b.dx != nullptr && i < kVecs; ++i)
        store(b.dx + step.node * kLanes + i * kVec, da[i]);
      continue;
    }
    const int at = (step.node - inputs) * kLanes;
    Vec sum = {};
    for (int i = 0; i < kVecs; ++i) {
      const Vec dz = differentiate<kActivation>(da[i], row + i * kVec, b.kept, at + i * kVec);
      store(b.scratch + at + i * kVec, dz);
      sum += dz;
    }
    store(bias_sums + (step.node - inputs) * kVec, sum);
  }
}

void DagKernel::backward(const BackwardBlock& b) const {
  with_activation(layer_.activation, [&]<Activation kActivation>() {
    with_width(b.width, [&]<int kWidth>() {
      layer_.activate_outputs ? output_deltas<kActivation, kWidth>(b)
                              : output_deltas<Activation::linear, kWidth>(b);
      hidden_deltas<kActivation, kWidth>(b);
    });
  });
  const ScratchPlaces places(layer_);
  sum_lanes(b.scratch + places.weight_sums, layer_.graph->edges(), b.accumulate,
            b.gradient + layer_.weight);
  if (layer_.train_biases) {
    sum_lanes(b.scratch + places.bias_sums, layer_.computed(), b.accumulate,
              b.gradient + layer_.bias);
  } else if (!b.accumulate) {
    std::fill_n(b.gradient + layer_.bias, layer_.computed(), 0.0f);
  }
}

}  // namespace hotloop
