// Branches: networks with several named inputs, written in words.
//
//   h1:      {from: dc, layers: [dense 128, dense 64]}
//   h2:      {from: dc_sfc, layers: [dense 64, flatten, dense 64]}
//   context: {from: [h1, h2], layers: [stack, attention 128]}
//
// All data has a shape [rows, width]; a vector is one row. The words:
//   concat             several inputs become one vector: the default if there are several
//   stack              several vectors of the same width become the rows of a matrix
//   flatten            a matrix becomes a vector
//   dense N [act]      maps each row, with the same weights, to width N; the activation is
//                      net.activation unless another is given
//   norm [act]         layer normalisation of a vector
//   attention N        a matrix becomes a vector, the mean of its rows weighted by additive
//                      attention with N hidden units (AttentionLayer)
//   row I              row I of a matrix becomes a vector
//   forest N [rounds R] [heads H] [groups G]
//                      only as the first layer: a graph transformer over four adjacent parts of
//                      the observation, graph [g], nodes [M, n], edges [M, e] and parents [M], in
//                      this order and with any names. The result is a matrix [2, N]: the mean of
//                      the node tokens, and the graph token (ForestLayer; 4 rounds, 4 heads and
//                      16 groups by default)
//
// Branch results are stored side by side in the order of declaration, so joining adjacent ones is
// free; others are copied.
#pragma once

#include <span>

#include "net/structure.hpp"
#include "net/structure_builder.hpp"

namespace hotloop {

// A slice of the row of features, and its shape.
struct Slice {
  int at = 0;
  int rows = 1;
  int width = 0;

  int size() const { return rows * width; }
};

// What the hidden layers read.
struct Front {
  Slice last;    // the observation, or the output of the convolutions or the last branch
  Slice values;  // the branch options.value_from, or the same
};

// Appends convolutions or the layers of all branches, if the options have any. Sets
// structure.front. Throws UsageError that names the branch, what is wrong with it and what is
// allowed.
Front add_front(const NetOptions& options, const GridShape& grid, std::span<const InputPart> parts,
                Structure& structure, StructureBuilder& build);

}  // namespace hotloop
