#include "net/work.hpp"

namespace hotloop {

NetworkWork work_of(const Structure& structure) {
  NetworkWork work;
  for (std::size_t i = 0; i < structure.layers.size(); ++i) {
    const double flop =
        2 * std::visit([](const auto& layer) { return multiply_adds(layer); }, structure.layers[i]);
    work.forward += flop;
    work.backward += flop * (structure.wants_input_gradient(i) ? 2 : 1);
  }
  return work;
}

}  // namespace hotloop
