// Expects row i of a batch to equal this window in every field.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "reference/replay.hpp"

namespace hotloop {

inline void expect_row(const Batch& batch, int i, const ReplayShape& shape,
                       const reference::Window& w) {
  const int d = shape.obs, a = shape.actions;
  ASSERT_EQ(std::vector<float>(batch.obs + i * d, batch.obs + (i + 1) * d), w.obs);
  const int size = shape.action_size;
  ASSERT_EQ(batch.actions == nullptr, size > 0);
  ASSERT_EQ(batch.continuous_actions != nullptr, size > 0);
  if (size > 0) {
    const float* action = batch.continuous_actions + i * size;
    ASSERT_EQ(std::vector<float>(action, action + size), w.continuous_action);
  } else {
    ASSERT_EQ(batch.actions[i], w.action);
  }
  ASSERT_EQ(batch.mask != nullptr, shape.masks);
  if (shape.masks) {
    ASSERT_EQ(std::vector<std::uint8_t>(batch.mask + i * a, batch.mask + (i + 1) * a), w.mask);
  }
  ASSERT_FLOAT_EQ(batch.rewards[i], static_cast<float>(w.reward));
  ASSERT_FLOAT_EQ(batch.discounts[i], static_cast<float>(w.discount));
  if (w.discount == 0) return;  // s' has no value there, and is not read
  ASSERT_EQ(std::vector<float>(batch.next_obs + i * d, batch.next_obs + (i + 1) * d), w.next_obs);
  if (!shape.masks) return;
  ASSERT_EQ(std::vector<std::uint8_t>(batch.next_mask + i * a, batch.next_mask + (i + 1) * a),
            w.next_mask);
}

}  // namespace hotloop
