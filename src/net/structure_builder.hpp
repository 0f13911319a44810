// Appends layers to a structure, and hands out their places: those of tensors in the flat parameter
// array, and those of features in the row of a sample.
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

  // The layer reads from feature `from` on and writes to `to`. Its tensors get their places here.
  void add(Layer layer, int from, int to);
  // Reads from `from` on, and writes behind all features; returns where.
  int add(Layer layer, int from);

 private:
  Structure& structure_;
};

// A dense layer; if it is noisy, with the stds that the options ask for.
DenseLayer dense_layer(const NetOptions& options, int in, int out, Activation activation,
                       bool noisy);

}  // namespace hotloop
