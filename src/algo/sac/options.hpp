// Hyper-parameters of SAC.
#pragma once

#include <limits>

#include "algo/common/continuous/options.hpp"

namespace hotloop {

struct SacOptions : ContinuousOptions {
  double ent_coef = std::numeric_limits<double>::quiet_NaN();        // temperature; NaN = learnt
  double ent_coef_init = 1;                                          // its initial value, if learnt
  double target_entropy = std::numeric_limits<double>::quiet_NaN();  // NaN = -A
  Schedule ent_coef_learning_rate = constant(3e-4);
};

}  // namespace hotloop
