#include "draw/picture_text.hpp"

#include <fmt/format.h>

namespace hotloop {

Picture fitted(const Picture& picture, int columns) {
  const int step = (picture.width + columns - 1) / columns;
  if (step <= 1) return picture;
  Picture small{picture.width / step, picture.height / step, {}};
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      // The centre of the block of pixels that it replaces.
      const auto row = static_cast<std::size_t>(y * step + step / 2);
      const std::uint8_t* rgb = &picture.rgb[(row * picture.width + x * step + step / 2) * 3];
      small.rgb.insert(small.rgb.end(), rgb, rgb + 3);
    }
  }
  return small;
}

int text_lines(const Picture& picture) { return (picture.height + 1) / 2; }

std::string picture_text(const Picture& picture) {
  std::string text;
  const auto add_colour = [&](int layer, int x, int y) {
    const std::uint8_t* rgb = &picture.rgb[(static_cast<std::size_t>(y) * picture.width + x) * 3];
    text += fmt::format("\x1b[{};2;{};{};{}m", layer, rgb[0], rgb[1], rgb[2]);
  };
  constexpr int kForeground = 38, kBackground = 48;
  for (int y = 0; y < picture.height; y += 2) {
    for (int x = 0; x < picture.width; ++x) {
      add_colour(kForeground, x, y);
      if (y + 1 < picture.height) add_colour(kBackground, x, y + 1);
      text += "▀";
    }
    text += "\x1b[0m\x1b[K\n";
  }
  return text;
}

}  // namespace hotloop
