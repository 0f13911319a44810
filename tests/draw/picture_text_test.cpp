#include "draw/picture_text.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

// Pixel (x, y) has the colour (x, y, 7).
Picture numbered(int width, int height) {
  Picture picture{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.rgb.insert(picture.rgb.end(),
                         {static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y), 7});
    }
  }
  return picture;
}

TEST(PictureText, ShowsTwoPixelsInACharacter) {
  const Picture picture = numbered(1, 3);
  EXPECT_EQ(text_lines(picture), 2);
  EXPECT_EQ(picture_text(picture),
            "\x1b[38;2;0;0;7m\x1b[48;2;0;1;7m\u2580\x1b[0m\x1b[K\n"
            "\x1b[38;2;0;2;7m\u2580\x1b[0m\x1b[K\n");
}

TEST(PictureText, LeavesOutPixelsUntilItFits) {
  EXPECT_EQ(fitted(numbered(6, 4), 6).rgb, numbered(6, 4).rgb);
  const Picture small = fitted(numbered(7, 6), 3);  // every third
  EXPECT_EQ(small.width, 2);
  EXPECT_EQ(small.height, 2);
  EXPECT_EQ(small.rgb, (std::vector<std::uint8_t>{1, 1, 7, 4, 1, 7, 1, 4, 7, 4, 4, 7}));
}

}  // namespace
}  // namespace hotloop
