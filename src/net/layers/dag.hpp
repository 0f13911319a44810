// A graph of neurons (graph.hpp). In the order of the graph, each neuron n except the inputs has
//   a[n] = act(b[n] + sum over its predecessors q of w[q -> n] a[q]),
// x is `a` of the inputs, y is `a` of the outputs. Outputs may have no activation.
#pragma once

#include <cstdint>

#include "net/layers/layer.hpp"

namespace hotloop {

struct Graph;

struct DagLayer {
  std::shared_ptr<const Graph> graph = {};
  Activation activation = Activation::leaky_relu;
  bool activate_outputs = false;
  bool train_biases = true;  // if false, their gradient is zero
  std::uint64_t seed = 0;    // for Initialiser::small_world
  std::size_t weight = 0;    // offset of w [edges], in the order of the edges
  std::size_t bias = 0;      // offset of b [nodes - inputs]

  int inputs() const;
  int outputs() const;
  int computed() const;                          // nodes - inputs
  bool operator==(const DagLayer& other) const;  // compares graphs, not pointers
};
inline constexpr float kDagLeakySlope = 0.1f;  // of leaky ReLU in graphs, as in the topology DQN

// Generates the graph. Throws UsageError that names the wrong key net.graph.*.
DagLayer dag_layer(const GraphOptions& options, Activation activation, int in, int out);

void each_tensor(DagLayer& layer, const TensorVisitor& visit);
void initialise(const DagLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const DagLayer& layer);
LayerMemory memory_of(const DagLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const DagLayer& layer);

}  // namespace hotloop
