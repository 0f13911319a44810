// Appends layers to a structure, and places their tensors in the flat parameter array and their
// features in the row of a sample.
#pragma once

#include <utility>

#include "net/structure.hpp"

namespace hotloop {

class StructureBuilder {
 public:
  explicit StructureBuilder(Structure& structure) : structure_(structure) {
    structure_.features = structure_.inputs;
  }

  int take_features(int count) {
    return std::exchange(structure_.features, structure_.features + count);
  }

  // The layer reads features from `from` on and writes from `to` on. Sets the offsets of all
  // tensors: first those that are trained, in the order of the layers, then statistics.
  void add(Layer layer, int from, int to);
  // Writes after all features so far; returns where.
  int add(Layer layer, int from);

 private:
  Structure& structure_;
};

// A dense layer; if it is noisy, with the initial stds of the options.
DenseLayer dense_layer(const NetOptions& options, int in, int out, Activation activation,
                       bool noisy);

}  // namespace hotloop
