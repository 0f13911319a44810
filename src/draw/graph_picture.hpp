// A graph of neurons as a picture: edges coloured by weight, neurons by bias, blue below zero,
// white at zero, red above.
//
// Five rows from top to bottom: inputs, hidden neurons fed by an input, other hidden neurons,
// hidden neurons that feed an output, outputs. A neuron that fits two rows is in the lower one.
#pragma once

#include <hotloop/env.hpp>

#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace hotloop {

// Which of the five rows each neuron is in.
std::vector<int> picture_rows(const Graph& graph);

// weights [edges] and biases [nodes - inputs]. The path must end in .svg or .png, which selects the
// format. Throws UsageError for any other ending, RunError if the file cannot be written.
void write_graph_picture(const std::string& path, const Graph& graph,
                         std::span<const float> weights, std::span<const float> biases);

// The same as pixels, with about a hundred colours. `limits` are the weight and bias of the most
// saturated colours; 0 = the largest in the graph.
struct GraphScale {
  double weight = 0, bias = 0;
};
Picture graph_picture(const Graph& graph, std::span<const float> weights,
                      std::span<const float> biases, GraphScale limits = {});

}  // namespace hotloop
