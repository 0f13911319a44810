// The graph transformer over padded forests (ForestLayer), after Shi et al. 2021: embeddings,
// rounds of messages along the edges, simplicial embedding.
//
// In general, round by round, target i has
//   u_i = x_i + s_i + sum over its incoming edges j -> i of a_ij (v_j + w_ij),
// a = softmax over these edges of q_i . (k_j + w_ij) / sqrt(width of a head), for each head, where
// q, k, v, s are linear in the tokens x and w is linear in the embedding of the edge. In a forest a
// node has at most one incoming edge, and the softmax of one number is always exactly 1. So
//   u_i = x_i + s_i + v_parent(i) + w_i        (roots and graph tokens: u_i = x_i + s_i)
// and q, k and the number of heads do not matter: q and k are not computed, and their gradient is
// zero. A node without children needs no v.
//
// The first tokens of nodes are linear in their features, and so are the first round's maps of
// these tokens. The maps are therefore applied to unit rows, one for each feature and one for the
// bias, instead of to all nodes; a node's result is the sum of the units' results weighted by its
// features. The backward pass does the same.
//
// Then n = normalised u, z = scale n + shift, and the next token is GELU(z), in the last round z
// itself. Tokens are packed rows (forest_pack.hpp): no work is done for absent nodes, and the
// result of a sample does not depend on the samples around it.
#include "net/layers/forest/forest.hpp"

#include <algorithm>

#include "net/kernels/row_linear.hpp"
#include "net/layers/forest/forest_maps.hpp"
#include "net/layers/forest/forest_pack.hpp"
#include "net/layers/forest/forest_places.hpp"
#include "net/layers/forest/row_maths.hpp"

namespace hotloop {
namespace {

// Writes lanes [width][stride] of a block, or of one sample if the stride is one.
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
  int gradient_parts() const override { return 0; }

 private:
  // Feature f of a sample is x[f * stride + lane]; the memory is for `stride` lanes.
  void pass(const float* parameters, const float* x, int stride, int lanes, float* y, float* inner,
            float* kept) const;

  ForestLayer layer_;
  RowLinear graph_in_, edge_in_;
  RowLinear square_;  // from tokens to tokens
  RowLinear units_;   // its input gradient maps node features to tokens
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
  const InnerPlaces at(layer_, LaneAllocator(stride));
  pack_forest(layer_, features, stride, lanes, at.pack, inner);
  const ForestExtent& extent = extent_of(at.pack, inner);
  const std::int32_t* parents = integers(inner, at.pack.parents);
  const float* node_features = inner + at.pack.features.nodes;
  const float* parent_features =
      node_features + (extent.first_parent - extent.graphs) * unit_rows(layer_);
  float *x = inner + at.x, *value = inner + at.value, *edge = inner + at.edge;
  const KeptPlaces kept_at(layer_);

  const auto keep_in = [&](const KeptRows& places) {
    return kept == nullptr ? NormRows<float>{value, nullptr, nullptr} : places.in(kept);
  };
  EmbeddingMaps{layer_.graph, graph_in_, square_}.forward(
      p, inner + at.pack.features.graphs, extent.graphs, keep_in(kept_at.graph), value, x);
  EmbeddingMaps{layer_.edge, edge_in_, square_}.forward(
      p, inner + at.pack.features.edges, extent.edges(), keep_in(kept_at.edge), value, edge);
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
  const int width = layer_.width, rounds = static_cast<int>(layer_.rounds.size());
  const float *p = b.parameters, *inner = b.inner, *kept = b.kept;
  const InnerPlaces at(layer_, LaneAllocator(kLanes));
  const KeptPlaces kept_at(layer_);
  const ScratchPlaces scratch(layer_);
  const ForestExtent& extent = extent_of(at.pack, inner);
  const std::int32_t* parents = integers(inner, at.pack.parents);
  const bool learns = b.gradient != nullptr;
  if (learns && !b.accumulate)
    std::fill(b.gradient + layer_.first_parameter(), b.gradient + layer_.last_parameter(), 0.0f);

  const auto add_weight_gradient = [&](const float* x, const float* dy, int count,
                                       std::size_t weight) {
    if (learns) square_.add_weight_gradient(x, dy, count, b.gradient + weight);
  };

  // From the gradient of the results to that of the tokens.
  float *d = b.scratch + scratch.first, *other = b.scratch + scratch.second;
  float *dvalue = b.scratch + scratch.value, *dedge = b.scratch + scratch.edge;
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
  const float* node_features = inner + at.pack.features.nodes;
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
      if (learns) add_row(d + token, width, b.gradient + round.skip.bias);
      if (row < stored) std::copy_n(d + token, width, other + token);
      if (row >= extent.first_edge)
        add_row(d + token, width, dvalue + parents[row - extent.first_edge] * width);
    }
    // d is now the gradient of u; `other` becomes that of x.
    if (learns) add_up_rows(dvalue, extent.parents(), width, b.gradient + round.value.bias);
    add_weight_gradient(x, d, stored, round.skip.weight);
    square_.input_gradient(p + round.skip.weight, d, stored, other, true);
    add_weight_gradient(edge, d + first_edge, extent.edges(), round.edge);
    square_.input_gradient(p + round.edge, d + first_edge, extent.edges(), dedge, true);
    if (r > 0) {
      add_weight_gradient(x + first_parent, dvalue, extent.parents(), round.value.weight);
      square_.input_gradient(p + round.value.weight, dvalue, extent.parents(), other + first_parent,
                             true);
    } else {
      const float *units = x + static_cast<std::size_t>(extent.graphs) * width,
                  *dnodes = d + static_cast<std::size_t>(extent.graphs) * width;
      const UnitMap skip{layer_, round.skip, true, square_, units_, units},
          value{layer_, round.value, false, square_, units_, units};
      float *dunits = b.scratch + scratch.units, *mapped = dunits + unit_rows(layer_) * width;
      if (learns) {
        std::fill_n(dunits, unit_rows(layer_) * width, 0.0f);
        skip.backward(p, node_features, extent.nodes(), dnodes, mapped, dunits, b.gradient);
        value.backward(p, parent_features, extent.parents(), dvalue, mapped, dunits, b.gradient);
        add_unit_gradient(layer_, dunits, b.gradient);
      }
      if (b.dx != nullptr) {
        float* dfeatures = b.scratch + scratch.features.nodes;
        skip.feature_gradient(p, dnodes, extent.nodes(), mapped, dfeatures, false);
        value.feature_gradient(
            p, dvalue, extent.parents(), mapped,
            dfeatures + (extent.first_parent - extent.graphs) * unit_rows(layer_), true);
      }
    }
    std::swap(d, other);
  }

  const auto feature_gradient = [&](std::size_t place) {
    return b.dx == nullptr ? nullptr : b.scratch + place;
  };
  EmbeddingMaps{layer_.graph, graph_in_, square_}.backward(
      p, inner + at.pack.features.graphs, extent.graphs, kept_at.graph.in(kept), d, dvalue,
      b.gradient, feature_gradient(scratch.features.graphs));
  EmbeddingMaps{layer_.edge, edge_in_, square_}.backward(
      p, inner + at.pack.features.edges, extent.edges(), kept_at.edge.in(kept), dedge, dvalue,
      b.gradient, feature_gradient(scratch.features.edges));
  if (b.dx != nullptr)
    unpack_gradient(layer_, b.x, at.pack, inner, scratch.features, b.scratch, b.dx);
}

}  // namespace

LayerMemory memory_of(const ForestLayer& layer) {
  const InnerPlaces inner(layer, LaneAllocator(kLanes));
  return {.kept = KeptPlaces(layer).allocator.per_lane(),
          .scratch = static_cast<std::size_t>(ScratchPlaces(layer).allocator.per_lane()) * kLanes,
          .inner = inner.per_lane,
          .block_gradients = true};
}

std::shared_ptr<const LayerKernel> make_kernel(const ForestLayer& layer) {
  return std::make_shared<ForestKernel>(layer);
}

}  // namespace hotloop
