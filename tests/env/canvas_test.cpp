#include "env/canvas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace hotloop {
namespace {

// The pixels row by row, '#' where they have the colour.
std::string shape_of(Canvas canvas, const Colour& colour) {
  const Picture picture = std::move(canvas).take();
  std::string text;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const std::uint8_t* rgb = &picture.rgb[(static_cast<std::size_t>(y) * picture.width + x) * 3];
      text += std::equal(colour.begin(), colour.end(), rgb) ? '#' : '.';
    }
    text += '\n';
  }
  return text;
}

TEST(Canvas, DrawsBoxesClippedAtTheEdge) {
  Canvas canvas(5, 3);
  canvas.box({3, 1}, {9, 9}, kInk);
  EXPECT_EQ(shape_of(canvas, kInk), ".....\n...##\n...##\n");
}

TEST(Canvas, DrawsLinesOfTheGivenWidth) {
  Canvas canvas(8, 5);
  canvas.line({2, 2.5}, {6, 2.5}, 3, kWarm);
  EXPECT_EQ(shape_of(canvas, kWarm), "........\n.######.\n########\n.######.\n........\n");
}

TEST(Canvas, DrawsDiscs) {
  Canvas canvas(5, 5);
  canvas.disc({2.5, 2.5}, 2, kCool);
  EXPECT_EQ(shape_of(canvas, kCool), "..#..\n.###.\n#####\n.###.\n..#..\n");
}

TEST(Canvas, DrawsPolygonsByTheEvenOddRule) {
  Canvas canvas(6, 4);
  const std::array<Point, 4> arrow = {Point{0, 0}, {6, 0}, {6, 4}, {3, 2}};
  canvas.polygon(arrow, kAim);
  EXPECT_EQ(shape_of(canvas, kAim), ".#####\n..####\n....##\n.....#\n");
  canvas.polygon({}, kInk);  // nothing to draw
}

}  // namespace
}  // namespace hotloop
