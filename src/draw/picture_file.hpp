// Pictures as files: one as PNG, several as an animated GIF. Each pixel becomes a square of `scale`
// pixels. Files are written atomically; a RunError says what went wrong.
#pragma once

#include <hotloop/env.hpp>

#include <span>
#include <string>

namespace hotloop {

void write_png(const std::string& path, const Picture& picture, int scale);

// All pictures have the same size, and at most 256 colours between them. The last one stays for a
// second before the animation begins again.
void write_gif(const std::string& path, std::span<const Picture> pictures, int scale,
               int frames_per_second);

}  // namespace hotloop
