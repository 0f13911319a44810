#include "draw/action_strips.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hotloop {
namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr EnvSpec kTwoNumbers{
    .name = "two", .obs = 1, .action_size = 2, .action_low = {-1, 0}, .action_high = {1, 10}};

Colour at(const Picture& picture, int x, int y) {
  const std::size_t i = (static_cast<std::size_t>(y) * picture.width + x) * 3;
  return {picture.rgb[i], picture.rgb[i + 1], picture.rgb[i + 2]};
}

Picture blank(int width, int height) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height * 3, 9)};
}

// The heights above the bottom of band `i` that have its colour, in column x.
std::vector<int> marks(const Picture& picture, int world_height, int i, int x) {
  std::vector<int> found;
  for (int up = 0; up < kStripHeight; ++up) {
    const int y = world_height + (i + 1) * kStripHeight - 1 - up;
    if (at(picture, x, y) == strip_colour(i)) found.push_back(up);
  }
  return found;
}

// By hand: a band is 7 pixels high without its line, so -1, 0, 1 of [-1, 1] are 0, 3, 6 above its
// bottom, and so are 0, 5, 10 of [0, 10]. Each column starts at the previous step's height.
TEST(ActionStrips, EveryStepIsAColumnToScale) {
  const std::vector<float> actions = {-1, 10, 0, 5, 1, 0, 1, -99};
  const Picture drawn = with_action_strips(blank(6, 4), kTwoNumbers, actions);
  EXPECT_EQ(drawn.width, 6);
  EXPECT_EQ(drawn.height, 4 + 2 * kStripHeight);
  EXPECT_EQ(drawn.rgb.size(), 6u * (4 + 2 * kStripHeight) * 3);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) EXPECT_EQ(at(drawn, x, y), (Colour{9, 9, 9}));
  }
  EXPECT_EQ(marks(drawn, 4, 0, 0), (std::vector<int>{0}));
  EXPECT_EQ(marks(drawn, 4, 0, 1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(marks(drawn, 4, 0, 2), (std::vector<int>{3, 4, 5, 6}));
  EXPECT_EQ(marks(drawn, 4, 0, 3), (std::vector<int>{6}));
  EXPECT_EQ(marks(drawn, 4, 0, 4), (std::vector<int>{})) << "not yet";
  EXPECT_EQ(marks(drawn, 4, 1, 0), (std::vector<int>{6}));
  EXPECT_EQ(marks(drawn, 4, 1, 1), (std::vector<int>{3, 4, 5, 6}));
  EXPECT_EQ(marks(drawn, 4, 1, 3), (std::vector<int>{0}))
      << "values beyond the bounds are drawn at the bounds";
}

// 7 steps in 3 columns are 3 to a column: 0 1 2, 3 4 5, 6.
TEST(ActionStrips, MoreStepsThanColumnsShareThem) {
  std::vector<float> actions;
  for (const float value : {0, 10, 0, 0, 0, 5, 5}) {
    actions.push_back(-1);
    actions.push_back(value);
  }
  const Picture drawn = with_action_strips(blank(3, 2), kTwoNumbers, actions);
  EXPECT_EQ(marks(drawn, 2, 1, 0), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(marks(drawn, 2, 1, 1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(marks(drawn, 2, 1, 2), (std::vector<int>{3}));
  for (int x = 0; x < 3; ++x) EXPECT_EQ(marks(drawn, 2, 0, x), (std::vector<int>{0}));
}

// A film needs frames of one size with the same few colours.
TEST(ActionStrips, FramesHaveOneSizeAndFewColours) {
  EnvSpec spec{.name = "all", .obs = 1, .action_size = kMaxActionSize};
  spec.action_high.fill(1);
  std::vector<float> actions;
  std::set<Colour> colours;
  for (int step = 0; step < 50; ++step) {
    const Picture drawn = with_action_strips(blank(20, 3), spec, actions);
    EXPECT_EQ(drawn.height, 3 + kMaxActionSize * kStripHeight);
    for (int y = 0; y < drawn.height; ++y) {
      for (int x = 0; x < drawn.width; ++x) colours.insert(at(drawn, x, y));
    }
    for (int i = 0; i < kMaxActionSize; ++i) {
      actions.push_back(static_cast<float>((step * 7 + i * 3) % 11) / 10);
    }
  }
  EXPECT_EQ(colours.size(),
            1u + 2u + 8u);  // the world, background and lines, eight for the numbers
}

TEST(ActionStrips, NeighboursHaveDifferentColours) {
  for (int i = 0; i < kMaxActionSize; ++i) {
    for (int j = std::max(0, i - 7); j < i; ++j) EXPECT_NE(strip_colour(i), strip_colour(j));
  }
}

TEST(ActionStrips, DiscreteActionsHaveNone) {
  const EnvSpec numbered{.name = "numbered", .obs = 1, .actions = 3};
  const Picture drawn = with_action_strips(blank(5, 4), numbered, {});
  EXPECT_EQ(drawn.height, 4);
  EXPECT_EQ(drawn.rgb, blank(5, 4).rgb);
}

}  // namespace
}  // namespace hotloop
