// The loss of a critic and its gradient, for one block of lanes.
//
//   mean       L = (y - q)^2 / 2
//   quantiles  L = mean_i mean_j |tau_i - [u_ij < 0]| huber(u_ij),  u_ij = y_j - theta_i,
//              tau_i = (i + 1/2) / M                                    (Kuznetsov et al. 2020)
#pragma once

namespace hotloop {

struct CriticLossBlock {
  int width = 0;                  // lanes in use, a multiple of kLaneStep
  int outputs = 1;                // M
  int targets = 1;                // numbers in a target
  bool quantiles = false;         // or the mean
  const float* output = nullptr;  // [M][kLanes]
  const float* target = nullptr;  // [targets][kLanes]
  const float* share = nullptr;   // [kLanes] weight in the mean over the batch; 0 beyond its rows
  float* gradient = nullptr;      // [M][kLanes], overwritten
  float* error = nullptr;         // [kLanes] added to: |y - q|, or the loss of the quantiles
  float* loss = nullptr;          // [kLanes] times share
  float* q = nullptr;             // [kLanes] times share
};

void critic_loss(const CriticLossBlock& block);

// The mean of `count` numbers of each lane, [count][kLanes] -> [kLanes].
void mean_of_lanes(const float* values, int count, int width, float* mean);

// Sorts the `count` numbers of each lane, smallest first.
void sort_lanes(float* values, int count, int width);

}  // namespace hotloop
