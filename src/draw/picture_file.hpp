// Pictures as files: one as PNG, several as an animated GIF. Each pixel becomes a square with sides
// of `scale` pixels. Files are written atomically. Throws RunError.
#pragma once

#include <hotloop/env.hpp>

#include <span>
#include <string>

namespace hotloop {

void write_png(const std::string& path, const Picture& picture, int scale);

// All pictures must have the same size, and at most 256 different colours in total. The last frame
// is shown for one second before the animation repeats.
void write_gif(const std::string& path, std::span<const Picture> pictures, int scale,
               int frames_per_second);

}  // namespace hotloop
