// Appends layers to a structure, and hands out their places: those of tensors in the flat parameter
// array, and those of features in the row of a sample.
#pragma once

#include <utility>

#include "net/lanes.hpp"
#include "net/structure.hpp"

namespace hotloop {

struct ForestShape {
  int nodes = 0;  // at most
  int graph_features = 0, node_features = 0, edge_features = 0;
  int width = 0;  // a multiple of 8
  int rounds = 4;
  int heads = 4;    // divides the width
  int groups = 16;  // if it does not divide the width, the next number below that does
};

class StructureBuilder {
 public:
  StructureBuilder(Structure& structure, const NetOptions& options)
      : structure_(structure), options_(options) {
    structure_.features = structure_.inputs;
  }

  int take_features(int count) {
    return std::exchange(structure_.features, structure_.features + count);
  }

  // The layer reads from feature `from` on and writes to `to`.
  void add(Layer layer, int from, int to) {
    structure_.layers.push_back(std::move(layer));
    structure_.places.push_back({from, to});
  }
  // Reads from `from` on, and writes behind all features; returns where.
  int add(Layer layer, int from) {
    const int to = take_features(outputs_of(layer));
    add(std::move(layer), from, to);
    return to;
  }

  DenseLayer dense(int in, int out, Activation activation, bool noisy, int rows = 1);
  ConvLayer conv(const GridShape& grid, int out);
  NormLayer norm(int width, Activation activation);
  StreamsLayer streams(int in, int value, int advantage, bool split_input, Activation activation,
                       bool noisy);
  DagLayer dag(int in, int out);
  AttentionLayer attention(int rows, int width, int units);
  ConstantLayer constant(int width, float initial);
  ForestLayer forest(const ForestShape& shape);

 private:
  std::size_t matrix(int rows, int columns, int stride);
  std::size_t vector(int size);
  std::size_t take(std::size_t floats);

  Structure& structure_;
  const NetOptions& options_;
};

}  // namespace hotloop
