// The dueling head of Wang et al. 2016, per atom k: from x = [V (atoms) | A (actions x atoms)],
// y[a, k] = V[k] + A[a, k] - mean of A[., k]. It has no parameters.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct DuelingLayer {
  int actions = 0;
  int atoms = 0;

  int inputs() const { return (1 + actions) * atoms; }
  int outputs() const { return actions * atoms; }
  bool operator==(const DuelingLayer&) const = default;
};

void each_tensor(DuelingLayer& layer, const TensorVisitor& visit);
void initialise(const DuelingLayer& layer, Initialiser init, const Draws& draws, float* parameters);
double multiply_adds(const DuelingLayer& layer);
LayerMemory memory_of(const DuelingLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const DuelingLayer& layer);

}  // namespace hotloop
