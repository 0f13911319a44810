// A graph of neurons as in existing topology networks: weights are in a dictionary under the names
// of edges, strings that are built for every edge in every pass; predecessors are looked up in the
// graph; each product is a new array over the batch. The slow twin of the forward pass of
// src/net/layers/dag; dag.hpp has gradients and other precisions. Tests and benchmarks only.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "net/structure.hpp"
#include "reference/activation.hpp"

namespace hotloop::reference {

class StringDag {
 public:
  StringDag(const DagLayer& layer, std::span<const float> parameters) : layer_(layer) {
    const Graph& graph = *layer_.graph;
    for (int node = graph.inputs; node < graph.nodes; ++node) {
      biases_[node_name(node)] = parameters[layer_.bias + node - graph.inputs];
      for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
        weights_[edge_name(graph.sources[e], node)] = parameters[layer_.weight + e];
      }
    }
  }

  // rows [batch, inputs] -> [outputs][batch]
  std::vector<std::vector<float>> forward(std::span<const float> rows) const {
    const Graph& graph = *layer_.graph;
    const std::size_t batch = rows.size() / graph.inputs;
    std::unordered_map<std::string, std::vector<float>> activations;
    for (int i = 0; i < graph.inputs; ++i) {
      std::vector<float>& column = activations[node_name(i)];
      for (std::size_t row = 0; row < batch; ++row) column.push_back(rows[row * graph.inputs + i]);
    }
    for (const int node : graph.order) {
      std::vector<float> sum(batch, biases_.at(node_name(node)));
      for (const int source : predecessors(node)) {
        const float weight = weights_.at(edge_name(source, node));
        std::vector<float> product = activations.at(node_name(source));
        for (float& value : product) value *= weight;
        for (std::size_t row = 0; row < batch; ++row) sum[row] += product[row];
      }
      for (float& z : sum) z = activate(activation(node), z, kDagLeakySlope);
      activations[node_name(node)] = sum;
    }
    std::vector<std::vector<float>> outputs;
    for (int node = graph.nodes - graph.outputs; node < graph.nodes; ++node) {
      outputs.push_back(activations.at(node_name(node)));
    }
    return outputs;
  }

 private:
  static std::string node_name(int node) { return "node_" + std::to_string(node); }
  static std::string edge_name(int source, int target) {
    return "weight_" + std::to_string(source) + "_" + std::to_string(target);
  }
  std::vector<int> predecessors(int node) const {
    const Graph& graph = *layer_.graph;
    return {graph.sources.begin() + graph.first[node],
            graph.sources.begin() + graph.first[node + 1]};
  }
  Activation activation(int node) const {
    const bool plain = layer_.graph->is_output(node) && !layer_.activate_outputs;
    return plain ? Activation::linear : layer_.activation;
  }

  DagLayer layer_;
  std::unordered_map<std::string, float> weights_, biases_;
};

}  // namespace hotloop::reference
