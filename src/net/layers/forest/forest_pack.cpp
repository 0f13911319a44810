#include "net/layers/forest/forest_pack.hpp"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

constexpr int kFloatsPerLine = 16;  // arrays start on cache lines

enum Kind { lone_root, root, inner_node, leaf, kinds };

// One sample of a block.
struct Sample {
  const ForestLayer& layer;
  const float* x;  // of its lane
  int stride;

  float operator[](int feature) const { return x[static_cast<std::ptrdiff_t>(feature) * stride]; }

  // -2: there is no such node.
  int declared_parent(int node) const {
    const float parent = (*this)[layer.parents_at() + node];
    const bool valid = parent > -2 && parent < static_cast<float>(layer.nodes);
    return valid && static_cast<int>(parent) != node ? static_cast<int>(parent) : -2;
  }
  int count() const {
    int node = 0;
    while (node < layer.nodes && declared_parent(node) != -2) ++node;
    return node;
  }
  int parent(int node, int count) const {
    const int parent = declared_parent(node);
    return parent < count ? parent : -1;
  }

  void copy(int from, int features, int row_stride, float* to) const {
    for (int f = 0; f < features; ++f) {
      const float value = (*this)[from + f];
      to[f] = std::isfinite(value) ? value : 0.0f;
    }
    std::fill(to + features, to + row_stride, 0.0f);
  }
};

Kind kind_of(bool has_parent, bool has_children) {
  if (has_parent) return has_children ? inner_node : leaf;
  return has_children ? root : lone_root;
}

}  // namespace

std::size_t LaneAllocator::take(int floats_per_lane) {
  const std::size_t at = static_cast<std::size_t>(per_lane_) * lanes_;
  per_lane_ += round_up(floats_per_lane, kFloatsPerLine);
  return at;
}

ForestFeatures::ForestFeatures(const ForestLayer& layer, LaneAllocator& allocator)
    : graphs(allocator.take(layer.graph.in.stride)),
      nodes(allocator.take(layer.nodes * unit_rows(layer))),
      edges(allocator.take(layer.nodes * layer.edge.in.stride)) {}

ForestPackPlaces::ForestPackPlaces(const ForestLayer& layer, LaneAllocator& allocator)
    : extent(allocator.take(sizeof(ForestExtent) / sizeof(float))),
      counts(allocator.take(1)),
      rows(allocator.take(layer.nodes)),
      parents(allocator.take(layer.nodes)),
      features(layer, allocator) {}

void pack_forest(const ForestLayer& layer, const float* x, int stride, int lanes,
                 const ForestPackPlaces& at, float* inner) {
  std::int32_t* counts = integers(inner, at.counts);
  std::int32_t* all_rows = integers(inner, at.rows);
  // How many there are of each kind; `rows` holds whether a node has children, then its kind.
  int sizes[kinds] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    const Sample sample{layer, x + lane, stride};
    std::int32_t* rows = all_rows + lane * layer.nodes;
    const int count = counts[lane] = sample.count();
    std::fill_n(rows, count, 0);
    for (int node = 0; node < count; ++node) {
      const int parent = sample.parent(node, count);
      if (parent >= 0) rows[parent] = 1;
    }
    for (int node = 0; node < count; ++node) {
      const Kind kind = kind_of(sample.parent(node, count) >= 0, rows[node] != 0);
      rows[node] = kind;
      ++sizes[kind];
    }
  }
  int next[kinds + 1] = {lanes};  // the next free row of each kind
  for (int kind = 0; kind < kinds; ++kind) next[kind + 1] = next[kind] + sizes[kind];
  const ForestExtent extent{.graphs = lanes,
                            .tokens = next[kinds],
                            .first_parent = next[root],
                            .first_edge = next[inner_node],
                            .last_parent = next[leaf]};
  *reinterpret_cast<ForestExtent*>(inner + at.extent) = extent;

  std::int32_t* parents = integers(inner, at.parents);
  for (int lane = 0; lane < lanes; ++lane) {
    const Sample sample{layer, x + lane, stride};
    std::int32_t* rows = all_rows + lane * layer.nodes;
    for (int node = 0; node < counts[lane]; ++node) rows[node] = next[rows[node]]++;
    sample.copy(0, layer.graph.in.in, layer.graph.in.stride,
                inner + at.features.graphs + lane * layer.graph.in.stride);
    for (int node = 0; node < counts[lane]; ++node) {
      float* node_features = inner + at.features.nodes + (rows[node] - lanes) * unit_rows(layer);
      sample.copy(layer.nodes_at() + node * layer.node.in, layer.node.in, unit_rows(layer),
                  node_features);
      node_features[layer.node.in] = 1;
      const int parent = sample.parent(node, counts[lane]), edge = rows[node] - extent.first_edge;
      if (parent < 0) continue;
      parents[edge] = rows[parent] - extent.first_parent;
      sample.copy(layer.edges_at() + node * layer.edge.in.in, layer.edge.in.in,
                  layer.edge.in.stride, inner + at.features.edges + edge * layer.edge.in.stride);
    }
  }
}

void unpack_gradient(const ForestLayer& layer, const float* x, const ForestPackPlaces& at,
                     const float* inner, const ForestFeatures& places, const float* gradients,
                     float* dx) {
  const ForestExtent& extent = extent_of(at, inner);
  const std::int32_t* counts = integers(inner, at.counts);
  std::fill_n(dx, static_cast<std::size_t>(layer.inputs()) * kLanes, 0.0f);
  for (int lane = 0; lane < extent.graphs; ++lane) {
    const auto put = [&](const float* from, int to, int features) {
      for (int f = 0; f < features; ++f) {
        const std::size_t place = static_cast<std::size_t>(to + f) * kLanes + lane;
        if (std::isfinite(x[place])) dx[place] = from[f];
      }
    };
    const std::int32_t* rows = integers(inner, at.rows) + lane * layer.nodes;
    put(gradients + places.graphs + lane * layer.graph.in.stride, 0, layer.graph.in.in);
    for (int node = 0; node < counts[lane]; ++node) {
      put(gradients + places.nodes + (rows[node] - extent.graphs) * unit_rows(layer),
          layer.nodes_at() + node * layer.node.in, layer.node.in);
      if (rows[node] < extent.first_edge) continue;  // a root
      put(gradients + places.edges + (rows[node] - extent.first_edge) * layer.edge.in.stride,
          layer.edges_at() + node * layer.edge.in.in, layer.edge.in.in);
    }
  }
}

}  // namespace hotloop
