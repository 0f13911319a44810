#include "net/lanes.hpp"

#include <gtest/gtest.h>

#include <vector>

#include <hotloop/rng.hpp>

namespace hotloop {
namespace {

TEST(Lanes, RowsToLanesAndBackForEveryCountAndManyWidths) {
  for (int features : {1, 2, 4, 7, 8, 10, 24, 64, 84, 120}) {
    for (int count = 1; count <= kLanes; ++count) {
      std::vector<float> rows(count * features);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i + 1);
      std::vector<float> lanes(features * kLanes, -1.0f);
      rows_to_lanes(rows.data(), features, count, features, lanes.data());
      const int width = block_width(count, 0);
      for (int f = 0; f < features; ++f) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const float expected = lane < count   ? rows[lane * features + f]
                                 : lane < width ? 0.0f
                                                : -1.0f;
          ASSERT_EQ(lanes[f * kLanes + lane], expected)
              << features << " features, row " << lane << " of " << count;
        }
      }
      const int stride = round_up(features, kLaneStep);
      std::vector<float> back(width * stride, -2.0f);
      lanes_to_rows(lanes.data(), width, features, back.data(), stride);
      for (int row = 0; row < width; ++row) {
        for (int f = 0; f < stride; ++f) {
          const float expected = f >= features ? -2.0f
                                 : row < count ? rows[row * features + f]
                                               : 0.0f;
          ASSERT_EQ(back[row * stride + f], expected);
        }
      }
    }
  }
}

TEST(Lanes, BlocksOfABatch) {
  EXPECT_EQ(block_count(1), 1);
  EXPECT_EQ(block_count(32), 1);
  EXPECT_EQ(block_count(33), 2);
  EXPECT_EQ(block_width(33, 0), 32);
  EXPECT_EQ(block_width(33, 1), 8);
  EXPECT_EQ(block_width(49, 1), 24);
}

}  // namespace
}  // namespace hotloop
