// Losses of critics and the sort of target quantiles, against plain loops and by hand.
#include "algo/common/continuous/critic_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/lanes.hpp"

namespace hotloop {
namespace {

struct alignas(64) Row : std::array<float, kLanes> {};

TEST(SortLanes, SortsEachLaneForAnyCount) {
  Rng rng(3, Purpose::test, 0, 0);
  for (int count = 1; count <= 70; ++count) {
    for (const int width : {8, 32}) {
      std::vector<Row> values(count);
      for (Row& row : values) {
        for (float& value : row) value = static_cast<float>(rng.below(20)) - 10;  // with ties
      }
      const std::vector<Row> before = values;
      sort_lanes(values[0].data(), count, width);
      for (int lane = 0; lane < kLanes; ++lane) {
        std::vector<float> expected(count), found(count);
        for (int i = 0; i < count; ++i) {
          expected[i] = before[i][lane];
          found[i] = values[i][lane];
        }
        if (lane < width) std::sort(expected.begin(), expected.end());
        ASSERT_EQ(found, expected) << count << " numbers, lane " << lane;
      }
    }
  }
}

// y = 3, q = 1, a batch of 4: L = 2, dL/dq = (1 - 3) / 4.
TEST(CriticLoss, OfTheMeanByHand) {
  Row q{}, y{}, share{}, gradient{}, error{}, loss{}, value{};
  q[0] = 1, y[0] = 3, share[0] = 0.25f;
  q[1] = 5, y[1] = 9;  // beyond the batch
  critic_loss({.width = 8,
               .output = q.data(),
               .target = y.data(),
               .share = share.data(),
               .gradient = gradient.data(),
               .error = error.data(),
               .loss = loss.data(),
               .q = value.data()});
  EXPECT_FLOAT_EQ(gradient[0], -0.5f);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_FLOAT_EQ(error[0], 2);
  EXPECT_FLOAT_EQ(loss[0], 0.5);
  EXPECT_FLOAT_EQ(value[0], 0.25);
  EXPECT_EQ(loss[1], 0);
  EXPECT_EQ(value[1], 0);
}

// theta = (0, 2), y = (1, 4, -1), tau = (1/4, 3/4), mean over the 6 pairs:
//   theta 0: u = 1, 4, -1: 1/4 * 1/2 + 1/4 * 7/2 + 3/4 * 1/2 = 11/8, slope -(1/4 + 1/4 - 3/4) = 1/4
//   theta 2: u = -1, 2, -3: 1/4 * 1/2 + 3/4 * 3/2 + 1/4 * 5/2 = 15/8, slope -(-1/4 + 3/4 - 1/4) =
//   -1/4
TEST(CriticLoss, OfQuantilesByHand) {
  std::array<Row, 2> theta{}, gradient{};
  std::array<Row, 3> y{};
  Row share{}, error{}, loss{}, value{};
  theta[1][0] = 2;
  y[0][0] = 1, y[1][0] = 4, y[2][0] = -1;
  share[0] = 1;
  critic_loss({.width = 8,
               .outputs = 2,
               .targets = 3,
               .quantiles = true,
               .output = theta[0].data(),
               .target = y[0].data(),
               .share = share.data(),
               .gradient = gradient[0].data(),
               .error = error.data(),
               .loss = loss.data(),
               .q = value.data()});
  EXPECT_NEAR(loss[0], (11.0 / 8 + 15.0 / 8) / 6, 1e-6);
  EXPECT_NEAR(error[0], (11.0 / 8 + 15.0 / 8) / 6, 1e-6);
  EXPECT_NEAR(gradient[0][0], 1.0 / 24, 1e-7);
  EXPECT_NEAR(gradient[1][0], -1.0 / 24, 1e-7);
  EXPECT_NEAR(value[0], 1, 1e-7);
}

}  // namespace
}  // namespace hotloop
