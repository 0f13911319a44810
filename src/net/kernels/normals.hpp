// Standard normals from a counter-based stream, sixteen at a time.
#pragma once

#include <span>

#include <hotloop/rng.hpp>

namespace hotloop {

inline constexpr int kNormalsPerDraw = 16;

// Fills `out`, whose size is a multiple of kNormalsPerDraw, with N(0, 1) from the next words of the
// stream.
void draw_normals(Rng& rng, std::span<float> out);

}  // namespace hotloop
