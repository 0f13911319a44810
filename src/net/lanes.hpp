// The memory layout of activations: blocks of lanes.
//
// At every boundary of the engine a batch is rows, [B, D]. Inside the network it is blocks of 32
// lanes, [ceil(B/32)][D][32]: each feature holds the values of 32 samples side by side, so that
// every product, bias, activation and loss vectorises over the batch, however narrow the layer (an
// output of 2 actions would waste three quarters of each register in row order). A last, partial
// block is used up to the next multiple of 8 lanes; lanes beyond the batch hold zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hotloop {

inline constexpr int kLanes = 32;    // samples in a block
inline constexpr int kLaneStep = 8;  // a partial block is rounded up to this

constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }
constexpr int block_count(int batch) { return (batch + kLanes - 1) / kLanes; }

// Lanes of `block` that a batch uses, rounded up to kLaneStep.
constexpr int block_width(int batch, int block) {
  const int left = batch - block * kLanes;
  return left >= kLanes ? kLanes : round_up(left, kLaneStep);
}

// rows [count, features], row stride `stride`  ->  lanes [features][kLanes]; lanes from `count` up
// to the next multiple of kLaneStep become zero.
void rows_to_lanes(const float* rows, int stride, int count, int features, float* lanes);

// The same for rows places[0], places[1], ... of `rows` [.., features].
void gather_to_lanes(const float* rows, const std::int32_t* places, int count, int features,
                     float* lanes);

// lanes [features][kLanes]  ->  rows [width, features], row stride `stride`.
void lanes_to_rows(const float* lanes, int width, int features, float* rows, int stride);

}  // namespace hotloop
