// The arithmetic of a network: operations per sample in its matrix products. A multiply-add counts
// as two. Activations, norms and softmaxes are not counted.
#pragma once

#include "net/structure.hpp"

namespace hotloop {

// NaN where the work depends on the observation (forests).
struct NetworkWork {
  double forward = 0;
  double backward = 0;  // for weights, and for inputs where an earlier layer needs them
};

NetworkWork work_of(const Structure& structure);

}  // namespace hotloop
