// A picture as text for a terminal with colours.
#pragma once

#include <hotloop/env.hpp>

#include <string>

namespace hotloop {

// One that is wider than this many pixels with every second, third ... pixel left out, until it is not.
Picture fitted(const Picture& picture, int columns);

// A character is about twice as high as it is wide: it shows two pixels, one above the other. This many
// lines, each ended by a line break.
int text_lines(const Picture& picture);
std::string picture_text(const Picture& picture);

}  // namespace hotloop
