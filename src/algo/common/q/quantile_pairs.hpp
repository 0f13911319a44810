// One quantile theta against all targets y_j, for a block of lanes (Dabney et al. 2018):
//
//   sum_j |tau - [u_j < 0]| huber(u_j),  u_j = y_j - theta,  Huber threshold 1
#pragma once

#include "net/lane_arrays.hpp"

namespace hotloop {

// `targets` [count][kLanes]. Sets the derivative with respect to theta and adds to the loss.
// The sums stay in registers.
template <int kWidth>
void add_pairs(int count, float tau, const float* targets, const float* quantile, float* slope,
               float* loss) {
  using Array = Eigen::Array<float, kWidth, 1>;
  const Array theta = ConstLanes<kWidth>(quantile);
  Array slope_sum = Array::Zero();
  Array loss_sum = ConstLanes<kWidth>(loss);
  for (int j = 0; j < count; ++j) {
    const Array u = ConstLanes<kWidth>(targets + j * kLanes) - theta;
    // |tau - [u < 0]| clip(u): the weight is tau for u > 0, 1 - tau for u < 0, without a
    // comparison.
    const Array above = u.max(0.0f).min(1.0f), below = u.min(0.0f).max(-1.0f);
    const Array weighted = tau * above + (1 - tau) * below;
    slope_sum -= weighted;
    loss_sum += weighted * (u - 0.5f * (above + below));  // Huber: both branches in one formula
  }
  Lanes<kWidth>{slope} = slope_sum;
  Lanes<kWidth>{loss} = loss_sum;
}

}  // namespace hotloop
