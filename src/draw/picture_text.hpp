// A picture as text for a terminal with colours.
#pragma once

#include <hotloop/env.hpp>

#include <string>

namespace hotloop {

// The picture, shrunk by an integer factor if it is wider than `columns` pixels.
Picture fitted(const Picture& picture, int columns);

// A character is about twice as high as it is wide, so it shows two pixels, one above the other.
// The text has text_lines() lines, each ending in a line break.
int text_lines(const Picture& picture);
std::string picture_text(const Picture& picture);

}  // namespace hotloop
