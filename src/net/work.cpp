#include "net/work.hpp"

#include <limits>

namespace hotloop {
namespace {

// Multiply-adds of a forward pass.
double products(const DenseLayer& l) { return 1.0 * l.rows * l.in * l.out; }
double products(const ConvLayer& l) { return 1.0 * l.positions() * l.fan_in() * l.out; }
double products(const NormLayer&) { return 0; }
double products(const StreamsLayer& l) { return products(l.value) + products(l.advantage); }
double products(const DuelingLayer&) { return 0; }
double products(const DagLayer& l) { return static_cast<double>(l.graph->edges()); }
double products(const AttentionLayer& l) {
  return products(l.hidden) + products(l.score) + 1.0 * l.rows() * l.width();
}
double products(const CopyLayer&) { return 0; }
double products(const ConstantLayer&) { return 0; }
double products(const ForestLayer&) { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace

NetworkWork work_of(const Structure& structure) {
  NetworkWork work;
  for (std::size_t i = 0; i < structure.layers.size(); ++i) {
    const double flop =
        2 * std::visit([](const auto& layer) { return products(layer); }, structure.layers[i]);
    work.forward += flop;
    work.backward += flop * (structure.wants_input_gradient(i) ? 2 : 1);
  }
  return work;
}

}  // namespace hotloop
