// A graph of neurons as a picture: edges coloured by their weights, neurons by their biases, blue below
// zero, white at zero, red above.
//
// Five rows from top to bottom: inputs, hidden neurons that an input leads to, other hidden ones, hidden
// ones that lead to an output, outputs; who belongs to two rows is in the lower one.
#pragma once

#include <hotloop/env.hpp>

#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace hotloop {

// Which of the five rows each neuron is in.
std::vector<int> picture_rows(const Graph& graph);

// weights [edges] and biases [nodes - inputs]; the ending says whether it becomes an .svg or a .png.
// Throws UsageError for another ending, RunError if it cannot be written.
void write_graph_picture(const std::string& path, const Graph& graph,
                         std::span<const float> weights, std::span<const float> biases);

// The same as pixels. Colours have at most a hundred shades; `most` are the weight and the bias of
// the deepest ones, 0 = the largest there are.
struct GraphScale {
  double weight = 0, bias = 0;
};
Picture graph_picture(const Graph& graph, std::span<const float> weights,
                      std::span<const float> biases, GraphScale most = {});

}  // namespace hotloop
