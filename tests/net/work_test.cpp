// Arithmetic worked by hand: a product of [m, k] and [k, n] is 2 m k n operations.
#include "net/work.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

TEST(Work, DenseLayers) {
  const NetworkWork work = work_of(make_mlp(4, 2, {.hidden = {64}}));
  EXPECT_EQ(work.forward, 2 * (4 * 64 + 64 * 2));  // 768
  // The gradients of both matrices and the hidden layer; the input gradient is not computed.
  EXPECT_EQ(work.backward, 2 * (4 * 64) + 2 * 2 * (64 * 2));  // 1024
}

TEST(Work, NormsAndTheSumOfADuelingHeadAreNoProducts) {
  const NetOptions plain{.hidden = {8, 6}, .dueling = true};
  NetOptions normed = plain;
  normed.layer_norm = true;
  const NetworkWork work = work_of(make_mlp(3, 2, plain));
  EXPECT_EQ(work.forward, 2 * (3 * 8 + 8 * 6 + 6 * 3));  // a value and two advantages
  EXPECT_EQ(work.backward, 2 * (3 * 8) + 4 * (8 * 6 + 6 * 3));
  EXPECT_EQ(work_of(make_mlp(3, 2, normed)).forward, work.forward);
}

TEST(Work, ConvolutionsMultiplyAtEveryPosition) {
  const GridShape grid{.height = 5, .width = 4, .channels = 3};
  const NetworkWork work =
      work_of(make_mlp(grid.size(), 2, {.channels = {7}, .hidden = {}}, 1, grid));
  const double conv = 2.0 * (5 * 4) * (3 * 3 * 3) * 7, head = 2.0 * (5 * 4 * 7) * 2;
  EXPECT_EQ(work.forward, conv + head);
  EXPECT_EQ(work.backward, conv + 2 * head);
}

TEST(Work, GraphsMultiplyOnceForEachEdge) {
  const NetOptions options{.graph = {.kind = GraphKind::edges, .edges = "2 1 1: 0>2 1>2 2>3"}};
  EXPECT_EQ(work_of(make_mlp(2, 1, options)).forward, 2 * 3);
}

}  // namespace
}  // namespace hotloop
