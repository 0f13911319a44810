// The forests of a block of samples as consecutive rows, without the absent nodes.
//
// A row is a token: first the graph tokens, one per sample, then the nodes in this order:
//
//  graph tokens | roots without children | roots with children | others with children | leaves
//                                        ^ first_parent        ^ first_edge           ^ last_parent
//
// So all tokens, all nodes, the nodes with children and the nodes with a parent are each a
// contiguous range of rows, as matrix products need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/lanes.hpp"
#include "net/layers/forest/forest.hpp"

namespace hotloop {

// Allocates memory in floats per lane; returns offsets from its start.
class LaneAllocator {
 public:
  explicit LaneAllocator(int lanes) : lanes_(lanes) {}
  std::size_t take(int floats_per_lane);
  int per_lane() const { return per_lane_; }

 private:
  int lanes_;
  int per_lane_ = 0;
};

// Features of packed rows, or their gradients.
struct ForestFeatures {
  ForestFeatures(const ForestLayer& layer, LaneAllocator& allocator);

  std::size_t graphs;  // [graphs][graph.in.stride]
  std::size_t nodes;   // [tokens - graphs][unit_rows], a 1 after the features
  std::size_t edges;   // [edges][edge.in.stride]
};

// The offsets of the pack in LayerMemory::inner.
struct ForestPackPlaces {
  ForestPackPlaces(const ForestLayer& layer, LaneAllocator& allocator);

  std::size_t extent;   // ForestExtent
  std::size_t counts;   // [lanes], integers: number of nodes
  std::size_t rows;     // [lanes][nodes], integers: the row of each node
  std::size_t parents;  // [edges], integers: the parent's row, counted from first_parent
  ForestFeatures features;
};

// Features of a node, with a 1 for the bias, padded.
inline int unit_rows(const ForestLayer& layer) { return round_up(layer.node.in + 1, kLaneStep); }

struct ForestExtent {
  std::int32_t graphs, tokens, first_parent, first_edge, last_parent;

  int nodes() const { return tokens - graphs; }
  int parents() const { return last_parent - first_parent; }
  int edges() const { return tokens - first_edge; }
};

// Feature f of a sample is x[f * stride + lane]. Non-finite numbers count as zero.
void pack_forest(const ForestLayer& layer, const float* x, int stride, int lanes,
                 const ForestPackPlaces& at, float* inner);

// The backward pass: from gradients of packed features, at `places` in `gradients`, to dx
// [inputs][kLanes]. What is not packed has gradient zero: absent nodes, the edges of roots,
// parents, and non-finite numbers.
void unpack_gradient(const ForestLayer& layer, const float* x, const ForestPackPlaces& at,
                     const float* inner, const ForestFeatures& places, const float* gradients,
                     float* dx);

inline const ForestExtent& extent_of(const ForestPackPlaces& at, const float* inner) {
  return *reinterpret_cast<const ForestExtent*>(inner + at.extent);
}
inline const std::int32_t* integers(const float* inner, std::size_t offset) {
  return reinterpret_cast<const std::int32_t*>(inner + offset);
}
inline std::int32_t* integers(float* inner, std::size_t offset) {
  return reinterpret_cast<std::int32_t*>(inner + offset);
}

}  // namespace hotloop
