// The graph transformer over padded forests (ForestLayer), after Shi et al. 2021: embeddings, rounds of
// messages along the edges, simplicial embedding.
//
// In general, round by round, target i has
//   u_i = x_i + s_i + sum over its incoming edges j -> i of a_ij (v_j + w_ij),
// a = softmax over these edges of q_i . (k_j + w_ij) / sqrt(width of a head), head by head, where q, k, v, s
// are linear in the tokens x and w is linear in the embedding of the edge. In a forest a node has at
// most one incoming edge, and the softmax of one number is exactly 1, whatever the number is. So
//   u_i = x_i + s_i + v_parent(i) + w_i        (roots and graph tokens: u_i = x_i + s_i)
// and neither q nor k nor the number of heads matters; nothing of them is computed, and their gradient is
// zero. A node without children needs no v.
//
// The first tokens of nodes are linear in their features, and so is what the first round's maps make of
// them. These maps therefore take unit rows, one for each feature and one for the bias, instead of all
// nodes; a node's result is the sum of the units' weighted by its features. The same on the way back.
//
// Then n = normalised u, z = scale n + shift, and the next token is GELU(z), after the last round z itself.
// Tokens are packed rows (forest_pack.hpp): no work is done for absent nodes, and what a sample gets does
// not depend on the samples around it.
#include "net/layers/forest/forest.hpp"

#include <algorithm>
#include <cassert>

#include "net/kernels/row_linear.hpp"
#include "net/layers/forest/forest_pack.hpp"
#include "net/layers/forest/row_maths.hpp"

namespace hotloop {
namespace {

// LayerMemory::inner. In inference x and u serve every round.
struct InnerPlaces {
  InnerPlaces(const ForestLayer& layer, LaneCarver carve)
      : pack(layer, carve),
        x(carve.take((layer.nodes + 1 + unit_rows(layer)) * layer.width)),
        u(carve.take((layer.nodes + 1) * layer.width)),
        value(carve.take((layer.nodes + 1 + unit_rows(layer)) * layer.width)),
        edge(carve.take(layer.nodes * layer.width)),
        per_lane(carve.per_lane()) {}

  ForestPackPlaces pack;
  std::size_t x;  // [tokens][width]; for the first round [graphs + units][width]
  std::size_t u;  // [tokens][width]
  // [parents][width], in the first round units behind them; before, embeddings on their way; after,
  // means [graphs][width].
  std::size_t value;
  std::size_t edge;  // [edges][width], their embeddings
  int per_lane;
};

// What the way back needs of a normalisation and of GELU.
template <class Float>
struct NormRows {
  Float* n;        // [rows][width]
  Float* slope;    // [rows][width]; null: not kept
  Float* inverse;  // [rows], 1 / sqrt(variance + 1e-5); null: not kept
};

// Where it lies in LayerMemory::kept.
struct KeptRows {
  std::size_t n, slope, inverse;

  KeptRows(const ForestLayer& layer, int rows_per_lane, LaneCarver& carve)
      : n(carve.take(rows_per_lane * layer.width)),
        slope(carve.take(rows_per_lane * layer.width)),
        inverse(carve.take(rows_per_lane)) {}

  template <class Float>
  NormRows<Float> in(Float* kept) const {
    return {kept + n, kept + slope, kept + inverse};
  }
};
struct KeptRound : KeptRows {
  std::size_t next;  // [tokens][width], the x of the next round

  KeptRound(const ForestLayer& layer, LaneCarver& carve)
      : KeptRows(layer, layer.nodes + 1, carve),
        next(carve.take((layer.nodes + 1) * layer.width)) {}
};
struct KeptPlaces {
  explicit KeptPlaces(const ForestLayer& layer)
      : carve(kLanes), graph(layer, 1, carve), edge(layer, layer.nodes, carve), first_round(carve) {
    for (std::size_t r = 0; r < layer.rounds.size(); ++r) KeptRound(layer, carve);
  }
  KeptRound round(const ForestLayer& layer, int r) const {
    LaneCarver here = first_round;
    for (int before = 0; before < r; ++before) KeptRound(layer, here);
    return KeptRound(layer, here);
  }

  LaneCarver carve;
  KeptRows graph, edge;
  LaneCarver first_round;
};

// LayerMemory::scratch: gradients.
struct ScratchPlaces {
  explicit ScratchPlaces(const ForestLayer& layer)
      : carve(kLanes),
        first(carve.take((layer.nodes + 1) * layer.width)),
        second(carve.take((layer.nodes + 1) * layer.width)),
        value(carve.take((layer.nodes + 1) * layer.width)),
        edge(carve.take(layer.nodes * layer.width)),
        units(carve.take(2 * unit_rows(layer) * layer.width / kLanes)) {}

  LaneCarver carve;
  std::size_t first, second;  // [tokens][width] both, of tokens and of u in turn
  std::size_t value;          // [parents][width]; before, means; after, embeddings on their way
  std::size_t edge;           // [edges][width]
  std::size_t units;          // [2][units][width]
};

void add_to_rows(const float* row, int rows, int width, float* to) {
  for (int r = 0; r < rows; ++r) add_row(row, width, to + static_cast<std::size_t>(r) * width);
}

void add_up_rows(const float* from, int rows, int width, float* sum) {
  for (int r = 0; r < rows; ++r) add_row(from + static_cast<std::size_t>(r) * width, width, sum);
}

// Y = out(norm(GELU(in(features)))), for rows of features.
struct EmbeddingMaps {
  const ForestLayer::Embedding& layer;
  const RowLinear &in, &out;

  // `hidden` [rows][width] is room for what lies between; it may be keep.n if that is not kept.
  void forward(const float* p, const float* features, int rows, const NormRows<float>& keep,
               float* hidden, float* y) const {
    const int width = layer.norm.width;
    in.forward(p + layer.in.weight, features, rows, keep.n, false);
    for (int r = 0; r < rows; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * width;
      add_row(p + layer.in.bias, width, keep.n + at);
      gelu_row(width, keep.n + at, keep.slope == nullptr ? nullptr : keep.slope + at);
      const float inverse = normalise_row(layer.norm, p, keep.n + at, hidden + at);
      if (keep.inverse != nullptr) keep.inverse[r] = inverse;
    }
    out.forward(p + layer.out.weight, hidden, rows, y, false);
    add_to_rows(p + layer.out.bias, rows, width, y);
  }

  // Adds to the gradient, given dy [rows][width].
  void backward(const float* p, const float* features, int rows, const NormRows<const float>& kept,
                const float* dy, float* hidden, float* gradient) const {
    const int width = layer.norm.width;
    const float *scale = p + layer.norm.scale, *shift = p + layer.norm.shift;
    add_up_rows(dy, rows, width, gradient + layer.out.bias);
    for (int r = 0; r < rows; ++r) {  // again what met the weights
      const std::size_t at = static_cast<std::size_t>(r) * width;
      for (int i = 0; i < width; i += kVec)
        store(hidden + at + i,
              multiply_add(load(scale + i), load(kept.n + at + i), load(shift + i)));
    }
    out.add_weight_gradient(hidden, dy, rows, gradient + layer.out.weight);
    out.input_gradient(p + layer.out.weight, dy, rows, hidden, false);
    for (int r = 0; r < rows; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * width;
      normalise_row_backward(layer.norm, p, kept.n + at, kept.inverse[r], hidden + at, gradient);
      multiply_row(kept.slope + at, width, hidden + at);
    }
    add_up_rows(hidden, rows, width, gradient + layer.in.bias);
    in.add_weight_gradient(features, hidden, rows, gradient + layer.in.weight);
  }
};

// The first tokens of unit rows: columns of the node's map, and its bias.
void unit_tokens(const ForestLayer& layer, const float* p, float* units) {
  const int width = layer.width;
  const DenseLayer& node = layer.node;
  std::fill_n(units, unit_rows(layer) * width, 0.0f);
  for (int o = 0; o < width; ++o) {
    for (int f = 0; f < node.in; ++f) units[f * width + o] = p[node.weight + o * node.stride + f];
  }
  std::copy_n(p + node.bias, width, units + node.in * width);
}

void add_unit_gradient(const ForestLayer& layer, const float* d, float* gradient) {
  const int width = layer.width;
  const DenseLayer& node = layer.node;
  for (int o = 0; o < width; ++o) {
    for (int f = 0; f < node.in; ++f)
      gradient[node.weight + o * node.stride + f] += d[f * width + o];
  }
  add_row(d + node.in * width, width, gradient + node.bias);
}

// A map of the first round for all nodes: y = map(x), or x + map(x) where it is residual.
struct UnitMap {
  const ForestLayer& layer;
  const DenseLayer& map;
  bool residual;
  const RowLinear& square;
  const RowLinear& from_features;  // its way back weighs units [unit_rows][width] by features
  const float* units;

  // `mapped` [unit_rows][width] is room.
  void forward(const float* p, const float* features, int rows, float* mapped, float* y) const {
    const int width = layer.width, size = unit_rows(layer) * width;
    square.forward(p + map.weight, units, unit_rows(layer), mapped, false);
    if (residual) add_row(units, size, mapped);
    add_row(p + map.bias, width, mapped + layer.node.in * width);
    from_features.input_gradient(mapped, features, rows, y, false);
  }

  // Adds to the gradient of the weights and to that of the units.
  void backward(const float* p, const float* features, int rows, const float* dy, float* dmapped,
                float* dunits, float* gradient) const {
    const int size = unit_rows(layer) * layer.width;
    std::fill_n(dmapped, size, 0.0f);
    from_features.add_weight_gradient(dy, features, rows, dmapped);
    if (residual) add_row(dmapped, size, dunits);
    square.add_weight_gradient(units, dmapped, unit_rows(layer), gradient + map.weight);
    square.input_gradient(p + map.weight, dmapped, unit_rows(layer), dunits, true);
  }
};

// Lanes [width][stride] of a block, or of one sample, where the stride is one.
void rows_to_features(const float* rows, int count, int width, int stride, float* features) {
  if (stride == 1) {
    std::copy_n(rows, width, features);
  } else {
    rows_to_lanes(rows, width, count, width, features);
  }
}

class ForestKernel final : public LayerKernel {
 public:
  explicit ForestKernel(const ForestLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;

 private:
  // Feature f of a sample is x[f * stride + lane]; the memory is for `stride` lanes.
  void pass(const float* parameters, const float* x, int stride, int lanes, float* y, float* inner,
            float* kept) const;

  ForestLayer layer_;
  RowLinear graph_in_, edge_in_;
  RowLinear square_;  // from tokens to tokens
  RowLinear units_;   // its way back is from the features of nodes to tokens
};

ForestKernel::ForestKernel(const ForestLayer& layer)
    : layer_(layer),
      graph_in_(layer.graph.in.in, layer.width),
      edge_in_(layer.edge.in.in, layer.width),
      square_(layer.width, layer.width),
      units_(layer.width, unit_rows(layer)) {}

void ForestKernel::pass(const float* p, const float* features, int stride, int lanes, float* y,
                        float* inner, float* kept) const {
  const int width = layer_.width, rounds = static_cast<int>(layer_.rounds.size());
  const InnerPlaces at(layer_, LaneCarver(stride));
  pack_forest(layer_, features, stride, lanes, at.pack, inner);
  const ForestExtent& extent = extent_of(at.pack, inner);
  const std::int32_t* parents = integers(inner, at.pack.parents);
  const float* node_features = inner + at.pack.node_features;
  const float* parent_features =
      node_features + (extent.first_parent - extent.graphs) * unit_rows(layer_);
  float *x = inner + at.x, *value = inner + at.value, *edge = inner + at.edge;
  const KeptPlaces kept_at(layer_);

  const auto keep_in = [&](const KeptRows& places) {
    return kept == nullptr ? NormRows<float>{value, nullptr, nullptr} : places.in(kept);
  };
  EmbeddingMaps{layer_.graph, graph_in_, square_}.forward(
      p, inner + at.pack.graph_features, extent.graphs, keep_in(kept_at.graph), value, x);
  EmbeddingMaps{layer_.edge, edge_in_, square_}.forward(
      p, inner + at.pack.edge_features, extent.edges(), keep_in(kept_at.edge), value, edge);
  float* units = x + static_cast<std::size_t>(extent.graphs) * width;
  unit_tokens(layer_, p, units);
  const std::size_t first_parent = static_cast<std::size_t>(extent.first_parent) * width;
  const std::size_t first_edge = static_cast<std::size_t>(extent.first_edge) * width;
  for (int r = 0; r < rounds; ++r) {
    const ForestLayer::Round& round = layer_.rounds[r];
    const KeptRound keep = kept_at.round(layer_, r);
    const bool keeps = kept != nullptr, activates = r + 1 < rounds;
    float* u = keeps ? kept + keep.n : inner + at.u;
    float* next = keeps ? kept + keep.next : x;
    const int stored = r == 0 ? extent.graphs : extent.tokens;
    if (r == 0) {
      float* mapped = value + static_cast<std::size_t>(extent.parents()) * width;
      UnitMap{layer_, round.value, false, square_, units_, units}.forward(
          p, parent_features, extent.parents(), mapped, value);
      UnitMap{layer_, round.skip, true, square_, units_, units}.forward(
          p, node_features, extent.nodes(), mapped, u + extent.graphs * width);
    } else {
      square_.forward(p + round.value.weight, x + first_parent, extent.parents(), value, false);
      add_to_rows(p + round.value.bias, extent.parents(), width, value);
    }
    square_.forward(p + round.skip.weight, x, stored, u, false);
    square_.forward(p + round.edge, edge, extent.edges(), u + first_edge, true);
    for (int row = 0; row < extent.tokens; ++row) {
      const std::size_t token = static_cast<std::size_t>(row) * width;
      if (row < stored) {
        add_row(p + round.skip.bias, width, u + token);
        add_row(x + token, width, u + token);
      }
      if (row >= extent.first_edge)
        add_row(value + parents[row - extent.first_edge] * width, width, u + token);
      const float inverse = normalise_row(round.norm, p, u + token, next + token);
      if (activates) gelu_row(width, next + token, keeps ? kept + keep.slope + token : nullptr);
      if (keeps) kept[keep.inverse + row] = inverse;
    }
    x = next;
  }
  if (layer_.groups > 0) {
    for (int row = 0; row < extent.tokens; ++row)
      simplices_of_row(layer_.groups, width, x + static_cast<std::size_t>(row) * width);
  }

  const std::int32_t *counts = integers(inner, at.pack.counts),
                     *rows = integers(inner, at.pack.rows);
  for (int lane = 0; lane < lanes; ++lane) {
    float* mean = value + static_cast<std::size_t>(lane) * width;
    std::fill_n(mean, width, 0.0f);
    for (int node = 0; node < counts[lane]; ++node)
      add_row(x + static_cast<std::size_t>(rows[lane * layer_.nodes + node]) * width, width, mean);
    const float share = 1.0f / static_cast<float>(std::max(1, counts[lane]));
    for (int i = 0; i < width; ++i) mean[i] *= share;
  }
  rows_to_features(value, lanes, width, stride, y);
  rows_to_features(x, lanes, width, stride, y + static_cast<std::size_t>(width) * stride);
}

void ForestKernel::forward(const ForwardBlock& b) const {
  pass(b.parameters, b.x, kLanes, b.width, b.y, b.inner, b.kept);
}

void ForestKernel::forward_one(const float* parameters, const float* x, float* y,
                               float* inner) const {
  pass(parameters, x, 1, 1, y, inner, nullptr);
}

void ForestKernel::backward(const BackwardBlock& b) const {
  assert(b.dx == nullptr);  // it reads the observation
  const int width = layer_.width, rounds = static_cast<int>(layer_.rounds.size());
  const float *p = b.parameters, *inner = b.inner, *kept = b.kept;
  const InnerPlaces at(layer_, LaneCarver(kLanes));
  const KeptPlaces kept_at(layer_);
  const ScratchPlaces scratch(layer_);
  const ForestExtent& extent = extent_of(at.pack, inner);
  const std::int32_t* parents = integers(inner, at.pack.parents);
  if (!b.accumulate)
    std::fill(b.gradient + layer_.first_parameter(), b.gradient + layer_.last_parameter(), 0.0f);

  // Of the results to those of the tokens.
  float *d = b.scratch + scratch.first, *other = b.scratch + scratch.second;
  float *dvalue = b.scratch + scratch.value, *dedge = b.scratch + scratch.edge;
  float* dunits = b.scratch + scratch.units;
  const std::int32_t *counts = integers(inner, at.pack.counts),
                     *rows = integers(inner, at.pack.rows);
  lanes_to_rows(b.dy, b.width, width, dvalue, width);
  lanes_to_rows(b.dy + width * kLanes, b.width, width, d, width);
  for (int lane = 0; lane < extent.graphs; ++lane) {
    const float share = 1.0f / static_cast<float>(std::max(1, counts[lane]));
    for (int node = 0; node < counts[lane]; ++node) {
      float* token = d + static_cast<std::size_t>(rows[lane * layer_.nodes + node]) * width;
      for (int i = 0; i < width; i += kVec)
        store(token + i, load(dvalue + lane * width + i) * share);
    }
  }
  if (layer_.groups > 0) {
    const float* simplices = kept + kept_at.round(layer_, rounds - 1).next;
    for (int row = 0; row < extent.tokens; ++row) {
      const std::size_t token = static_cast<std::size_t>(row) * width;
      simplices_of_row_backward(layer_.groups, width, simplices + token, d + token);
    }
  }

  const std::size_t first_parent = static_cast<std::size_t>(extent.first_parent) * width;
  const std::size_t first_edge = static_cast<std::size_t>(extent.first_edge) * width;
  const float* node_features = inner + at.pack.node_features;
  const float* parent_features =
      node_features + (extent.first_parent - extent.graphs) * unit_rows(layer_);
  const float* edge = inner + at.edge;
  std::fill_n(dedge, static_cast<std::size_t>(extent.edges()) * width, 0.0f);
  for (int r = rounds - 1; r >= 0; --r) {
    const ForestLayer::Round& round = layer_.rounds[r];
    const KeptRound keep = kept_at.round(layer_, r);
    const int stored = r == 0 ? extent.graphs : extent.tokens;
    const float* x = r == 0 ? inner + at.x : kept + kept_at.round(layer_, r - 1).next;
    std::fill_n(dvalue, static_cast<std::size_t>(extent.parents()) * width, 0.0f);
    for (int row = 0; row < extent.tokens; ++row) {
      const std::size_t token = static_cast<std::size_t>(row) * width;
      if (r + 1 < rounds) multiply_row(kept + keep.slope + token, width, d + token);
      normalise_row_backward(round.norm, p, kept + keep.n + token, kept[keep.inverse + row],
                             d + token, b.gradient);
      add_row(d + token, width, b.gradient + round.skip.bias);
      if (row < stored) std::copy_n(d + token, width, other + token);
      if (row >= extent.first_edge)
        add_row(d + token, width, dvalue + parents[row - extent.first_edge] * width);
    }
    // d is now that of u; `other` becomes that of x.
    add_up_rows(dvalue, extent.parents(), width, b.gradient + round.value.bias);
    square_.add_weight_gradient(x, d, stored, b.gradient + round.skip.weight);
    square_.input_gradient(p + round.skip.weight, d, stored, other, true);
    square_.add_weight_gradient(edge, d + first_edge, extent.edges(), b.gradient + round.edge);
    square_.input_gradient(p + round.edge, d + first_edge, extent.edges(), dedge, true);
    if (r == 0) {
      const float* units = x + static_cast<std::size_t>(extent.graphs) * width;
      std::fill_n(dunits, unit_rows(layer_) * width, 0.0f);
      float* dmapped = dunits + unit_rows(layer_) * width;
      UnitMap{layer_, round.skip, true, square_, units_, units}.backward(
          p, node_features, extent.nodes(), d + extent.graphs * width, dmapped, dunits, b.gradient);
      UnitMap{layer_, round.value, false, square_, units_, units}.backward(
          p, parent_features, extent.parents(), dvalue, dmapped, dunits, b.gradient);
    } else {
      square_.add_weight_gradient(x + first_parent, dvalue, extent.parents(),
                                  b.gradient + round.value.weight);
      square_.input_gradient(p + round.value.weight, dvalue, extent.parents(), other + first_parent,
                             true);
    }
    std::swap(d, other);
  }

  add_unit_gradient(layer_, dunits, b.gradient);
  EmbeddingMaps{layer_.graph, graph_in_, square_}.backward(p, inner + at.pack.graph_features,
                                                           extent.graphs, kept_at.graph.in(kept), d,
                                                           dvalue, b.gradient);
  EmbeddingMaps{layer_.edge, edge_in_, square_}.backward(p, inner + at.pack.edge_features,
                                                         extent.edges(), kept_at.edge.in(kept),
                                                         dedge, dvalue, b.gradient);
}

}  // namespace

LayerMemory memory_of(const ForestLayer& layer) {
  const InnerPlaces inner(layer, LaneCarver(kLanes));
  return {.kept = KeptPlaces(layer).carve.per_lane(),
          .scratch = static_cast<std::size_t>(ScratchPlaces(layer).carve.per_lane()) * kLanes,
          .inner = inner.per_lane};
}

std::shared_ptr<const LayerKernel> make_kernel(const ForestLayer& layer) {
  return std::make_shared<ForestKernel>(layer);
}

}  // namespace hotloop
