// Where the arrays of a forest layer lie in the memory that LayerMemory asks for.
#pragma once

#include "net/layers/forest/forest_pack.hpp"

namespace hotloop {

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
        units(carve.take(2 * unit_rows(layer) * layer.width / kLanes)),
        features(layer, carve) {}

  LaneCarver carve;
  std::size_t first, second;  // [tokens][width] both, of tokens and of u in turn
  std::size_t value;          // [parents][width]; before, means; after, embeddings on their way
  std::size_t edge;           // [edges][width]
  std::size_t units;          // [2][units][width]
  ForestFeatures features;    // only if the gradient of x is wanted
};

}  // namespace hotloop
