#include "draw/action_strips.hpp"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

using Rgb = std::array<std::uint8_t, 3>;
constexpr Rgb kGround = {24, 26, 30};
constexpr Rgb kLine = {70, 74, 82};
// Colours of the first eight action components; after that they repeat.
constexpr std::array<Rgb, 8> kStripColours = {{{235, 110, 90},
                                               {90, 190, 240},
                                               {120, 215, 130},
                                               {240, 200, 60},
                                               {200, 140, 230},
                                               {240, 160, 190},
                                               {170, 200, 80},
                                               {210, 210, 210}}};

void dot(Picture& picture, int x, int y, const Rgb& colour) {
  const auto at = (static_cast<std::ptrdiff_t>(y) * picture.width + x) * 3;
  std::copy(colour.begin(), colour.end(), picture.rgb.begin() + at);
}

// Height in pixels above the bottom of a band: 0 for the lower bound, kStripHeight - 2 for the
// upper.
int level(float value, float low, float high) {
  const float share = std::clamp((value - low) / (high - low), 0.0f, 1.0f);
  return static_cast<int>(std::lround(share * (kStripHeight - 2)));
}

}  // namespace

std::array<std::uint8_t, 3> strip_colour(int i) { return kStripColours[i % kStripColours.size()]; }

Picture with_action_strips(Picture world, const EnvSpec& spec, std::span<const float> actions) {
  const int size = spec.action_size;
  if (size == 0 || world.width == 0) return world;
  const int top = world.height;
  world.height += size * kStripHeight;
  world.rgb.resize(static_cast<std::size_t>(world.width) * world.height * 3);
  const int steps = static_cast<int>(actions.size()) / size;
  const int per_column = std::max(1, (steps + world.width - 1) / world.width);
  for (int i = 0; i < size; ++i) {
    const int upper = top + i * kStripHeight, lower = upper + kStripHeight - 1;
    for (int y = upper; y <= lower; ++y) {
      for (int x = 0; x < world.width; ++x) dot(world, x, y, y == upper ? kLine : kGround);
    }
    for (int begin = 0; begin < steps; begin += per_column) {
      int lowest = kStripHeight, highest = 0;
      // Starts at the last step of the previous column, so that the curve has no gaps.
      for (int step = std::max(0, begin - 1); step < std::min(begin + per_column, steps); ++step) {
        const int now = level(actions[step * size + i], spec.action_low[i], spec.action_high[i]);
        lowest = std::min(lowest, now);
        highest = std::max(highest, now);
      }
      for (int up = lowest; up <= highest; ++up) {
        dot(world, begin / per_column, lower - up, strip_colour(i));
      }
    }
  }
  return world;
}

}  // namespace hotloop
