// A graph of neurons (graph.hpp): in the order of the graph, neuron n that is no input has
//   a[n] = act(b[n] + sum over its predecessors q of w[q -> n] a[q]),
// and x are the a of the inputs, y those of the outputs. Outputs may go without the activation.
#pragma once

#include <cstdint>

#include "net/layers/layer.hpp"

namespace hotloop {

struct Graph;

struct DagLayer {
  std::shared_ptr<const Graph> graph = {};
  Activation activation = Activation::leaky_relu;
  bool activate_outputs = false;
  bool train_biases = true;  // or their gradient is zero
  std::uint64_t seed = 0;    // of Initialiser::small_world
  std::size_t weight = 0;    // offset of w [edges], by the number of the edge
  std::size_t bias = 0;      // offset of b [nodes - inputs]

  int inputs() const;
  int outputs() const;
  int computed() const;                          // nodes - inputs
  bool operator==(const DagLayer& other) const;  // of the graphs themselves
};
inline constexpr float kDagLeakySlope = 0.1f;  // of leaky ReLU in graphs: the topology DQN's

// Generates the graph. Throws UsageError naming the key net.graph.* to blame.
DagLayer dag_layer(const GraphOptions& options, Activation activation, int in, int out);

void each_tensor(DagLayer& layer, const TensorVisitor& visit);
void initialise(const DagLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const DagLayer& layer);
LayerMemory memory_of(const DagLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const DagLayer& layer);

}  // namespace hotloop
