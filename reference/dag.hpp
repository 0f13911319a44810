// The slow twin of src/net/layers/dag: a graph of neurons written the obvious way, with
// dictionaries from (source, target) to weights and from neurons to biases and activations, one
// sample at a time, in any precision. Tests and benchmarks only.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "net/structure.hpp"
#include "reference/activation.hpp"

namespace hotloop::reference {

template <class T>
struct Dag {
  using EdgeName = std::pair<int, int>;  // source, target

  DagLayer layer;
  std::map<EdgeName, T> weights;
  std::map<EdgeName, std::size_t> places;  // indices in the flat array
  std::map<int, T> biases;
  std::map<int, T> z, a;  // of the last forward pass

  Dag(const DagLayer& dag, std::span<const T> parameters) : layer(dag) {
    const Graph& graph = *layer.graph;
    for (int node = graph.inputs; node < graph.nodes; ++node) {
      biases[node] = parameters[layer.bias + node - graph.inputs];
      for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
        weights[{graph.sources[e], node}] = parameters[layer.weight + e];
        places[{graph.sources[e], node}] = layer.weight + e;
      }
    }
  }

  std::span<const std::int32_t> predecessors(int node) const {
    const Graph& graph = *layer.graph;
    return std::span(graph.sources)
        .subspan(graph.first[node], graph.first[node + 1] - graph.first[node]);
  }
  Activation activation(int node) const {
    const bool plain = layer.graph->is_output(node) && !layer.activate_outputs;
    return plain ? Activation::linear : layer.activation;
  }

  std::vector<T> forward(const std::vector<T>& x) {
    const Graph& graph = *layer.graph;
    for (int i = 0; i < graph.inputs; ++i) a[i] = x[i];
    for (const int node : graph.order) {
      T sum = biases.at(node);
      for (const int source : predecessors(node)) sum += weights.at({source, node}) * a.at(source);
      z[node] = sum;
      a[node] = activate(activation(node), sum, T(kDagLeakySlope));
    }
    std::vector<T> y;
    for (int node = graph.nodes - graph.outputs; node < graph.nodes; ++node)
      y.push_back(a.at(node));
    return y;
  }

  // Call after the forward pass of the same sample. Adds to the gradient and returns dx.
  std::vector<T> backward(const std::vector<T>& dy, std::span<T> gradient) const {
    const Graph& graph = *layer.graph;
    std::map<int, T> da;
    for (int o = 0; o < graph.outputs; ++o) da[graph.nodes - graph.outputs + o] = dy[o];
    for (auto node = graph.order.rbegin(); node != graph.order.rend(); ++node) {
      const T dz = da[*node] * slope(activation(*node), z.at(*node), T(kDagLeakySlope));
      if (layer.train_biases) gradient[layer.bias + *node - graph.inputs] += dz;
      for (const int source : predecessors(*node)) {
        gradient[places.at({source, *node})] += dz * a.at(source);
        da[source] += weights.at({source, *node}) * dz;
      }
    }
    std::vector<T> dx;
    for (int i = 0; i < graph.inputs; ++i) dx.push_back(da[i]);
    return dx;
  }
};

}  // namespace hotloop::reference
