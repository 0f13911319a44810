// How much arithmetic a network is: operations per sample of its matrix products, a multiply and an
// add counting as two. Activations, norms and softmaxes are not counted.
#pragma once

#include "net/structure.hpp"

namespace hotloop {

// NaN where the work depends on the observation (forests).
struct NetworkWork {
  double forward = 0;
  double backward = 0;  // of weights, and of inputs where a layer before needs them
};

NetworkWork work_of(const Structure& structure);

}  // namespace hotloop
