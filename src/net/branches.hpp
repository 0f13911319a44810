// Branches: networks with several named inputs, as words.
//
//   h1:      {from: dc, layers: [dense 128, dense 64]}
//   h2:      {from: dc_sfc, layers: [dense 64, flatten, dense 64]}
//   context: {from: [h1, h2], layers: [stack, attention 128]}
//
// What flows has a shape [rows, width]; a vector is one row. The words:
//   concat             several things become one vector: the default where there are several
//   stack              several vectors of the same width become the rows of a matrix
//   flatten            a matrix becomes a vector
//   dense N [act]      each row by itself, with the same weights, to width N; net.activation follows
//                      unless another is given
//   norm [act]         layer normalisation of a vector
//   attention N        a matrix becomes a vector, the mean of its rows weighted by additive attention
//                      with N hidden units (AttentionLayer)
//   row I              row I of a matrix becomes a vector
//   forest N [rounds R] [heads H] [groups G]
//                      first, over the neighbouring parts graph [g], nodes [M, n], edges [M, e], parents [M]
//                      of the observation, in this order and by any name: a graph transformer, with the
//                      mean of the nodes' tokens and the graph's token as the rows of a matrix [2, N]
//                      (ForestLayer; 4 rounds, 4 heads and 16 groups unless others are given)
//
// The results of branches lie side by side in the order of their declaration, so joining neighbours
// costs nothing; others are copied together.
#pragma once

#include <span>

#include "net/structure.hpp"
#include "net/structure_builder.hpp"

namespace hotloop {

// Where something flows in the row of features, and its shape.
struct Stretch {
  int at = 0;
  int rows = 1;
  int width = 0;

  int size() const { return rows * width; }
};

// What the hidden layers read.
struct Front {
  Stretch last;    // the observation, or what convolutions or the last branch make of it
  Stretch values;  // options.value_from, or the same
};

// Appends convolutions or the layers of all branches, if the options have any. Sets structure.front.
// Throws UsageError naming the branch, what is wrong with it and what is allowed.
Front add_front(const NetOptions& options, const GridShape& grid, std::span<const InputPart> parts,
                Structure& structure, StructureBuilder& build);

}  // namespace hotloop
