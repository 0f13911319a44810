// The offsets of a forest layer's arrays in the memory that LayerMemory asks for.
#pragma once

#include "net/layers/forest/forest_pack.hpp"

namespace hotloop {

// LayerMemory::inner. In inference all rounds share x and u.
struct InnerPlaces {
  InnerPlaces(const ForestLayer& layer, LaneAllocator allocator)
      : pack(layer, allocator),
        x(allocator.take((layer.nodes + 1 + unit_rows(layer)) * layer.width)),
        u(allocator.take((layer.nodes + 1) * layer.width)),
        value(allocator.take((layer.nodes + 1 + unit_rows(layer)) * layer.width)),
        edge(allocator.take(layer.nodes * layer.width)),
        per_lane(allocator.per_lane()) {}

  ForestPackPlaces pack;
  std::size_t x;  // [tokens][width]; for the first round [graphs + units][width]
  std::size_t u;  // [tokens][width]
  // [parents][width], in the first round followed by units; before the rounds, hidden layers of
  // embeddings; after them, means [graphs][width].
  std::size_t value;
  std::size_t edge;  // [edges][width], their embeddings
  int per_lane;
};

// What the backward pass needs of a normalisation and of GELU.
template <class Float>
struct NormRows {
  Float* n;        // [rows][width]
  Float* slope;    // [rows][width]; null: not kept
  Float* inverse;  // [rows], 1 / sqrt(variance + 1e-5); null: not kept
};

// Its offsets in LayerMemory::kept.
struct KeptRows {
  std::size_t n, slope, inverse;

  KeptRows(const ForestLayer& layer, int rows_per_lane, LaneAllocator& allocator)
      : n(allocator.take(rows_per_lane * layer.width)),
        slope(allocator.take(rows_per_lane * layer.width)),
        inverse(allocator.take(rows_per_lane)) {}

  template <class Float>
  NormRows<Float> in(Float* kept) const {
    return {kept + n, kept + slope, kept + inverse};
  }
};
struct KeptRound : KeptRows {
  std::size_t next;  // [tokens][width], the x of the next round

  KeptRound(const ForestLayer& layer, LaneAllocator& allocator)
      : KeptRows(layer, layer.nodes + 1, allocator),
        next(allocator.take((layer.nodes + 1) * layer.width)) {}
};
struct KeptPlaces {
  explicit KeptPlaces(const ForestLayer& layer)
      : allocator(kLanes),
        graph(layer, 1, allocator),
        edge(layer, layer.nodes, allocator),
        first_round(allocator) {
    for (std::size_t r = 0; r < layer.rounds.size(); ++r) KeptRound(layer, allocator);
  }
  KeptRound round(const ForestLayer& layer, int r) const {
    LaneAllocator here = first_round;
    for (int before = 0; before < r; ++before) KeptRound(layer, here);
    return KeptRound(layer, here);
  }

  LaneAllocator allocator;
  KeptRows graph, edge;
  LaneAllocator first_round;
};

// LayerMemory::scratch: gradients.
struct ScratchPlaces {
  explicit ScratchPlaces(const ForestLayer& layer)
      : allocator(kLanes),
        first(allocator.take((layer.nodes + 1) * layer.width)),
        second(allocator.take((layer.nodes + 1) * layer.width)),
        value(allocator.take((layer.nodes + 1) * layer.width)),
        edge(allocator.take(layer.nodes * layer.width)),
        units(allocator.take(2 * unit_rows(layer) * layer.width / kLanes)),
        features(layer, allocator) {}

  LaneAllocator allocator;
  std::size_t first, second;  // both [tokens][width], of tokens and of u in turn
  std::size_t value;          // [parents][width]; before the rounds, means; after, embeddings
  std::size_t edge;           // [edges][width]
  std::size_t units;          // [2][units][width]
  ForestFeatures features;    // only if the gradient of x is wanted
};

}  // namespace hotloop
