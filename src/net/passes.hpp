// What the forward and the backward passes share.
#pragma once

#include <algorithm>

#include "net/network.hpp"

namespace hotloop {

// The lanes of a block that a batch uses.
inline BlockPart whole_block(int batch, int block) {
  return {block, 0, std::min(kLanes, batch - block * kLanes)};
}

inline float* from_lane(float* block, int lane) {
  return block == nullptr ? nullptr : block + lane;
}

inline int layer_count(const Plan& plan) {
  return static_cast<int>(plan.structure().layers.size());
}

// Whether a pass must run layer by layer over all blocks.
inline bool is_layer_by_layer(const Plan& plan, const Workspace& workspace) {
  return plan.needs_whole_batch() && workspace.training() != nullptr;
}

}  // namespace hotloop
