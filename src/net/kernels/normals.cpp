// Box-Muller: a radius sqrt(-2 log u) and a uniform direction give two independent normals. Each
// draw of 16 takes the next 16 words of the stream. The upper 24 bits of the first eight are u in
// (0, 1]. Those of the last eight are an angle within a quarter turn about zero. Their lowest bit
// decides whether the two coordinates are swapped (which makes it half a turn), and the next bit
// whether both change sign (a full turn).
#include "net/kernels/normals.hpp"

#include <Eigen/Core>
#include <array>
#include <cstring>
#include <numbers>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

constexpr int kPairs = kLaneStep;  // drawn together: one register
static_assert(kNormalsPerDraw == 2 * kPairs);

// Taylor series, exact to rounding within [-pi/4, pi/4]; a general sine would spend its time on
// reducing its argument.
inline float sine(float x) {
  const float s = x * x;
  return x * (1 - s * (1.0f / 6) *
                      (1 - s * (1.0f / 20) * (1 - s * (1.0f / 42) * (1 - s * (1.0f / 72)))));
}
inline float cosine(float x) {
  const float s = x * x;
  return 1 - s * (1.0f / 2) * (1 - s * (1.0f / 12) * (1 - s * (1.0f / 30) * (1 - s * (1.0f / 56))));
}

}  // namespace

void draw_normals(Rng& rng, std::span<float> out) {
  for (std::size_t first = 0; first < out.size(); first += kNormalsPerDraw) {
    alignas(32) std::int32_t words[kNormalsPerDraw];
    for (int i = 0; i < kNormalsPerDraw; i += 4) {
      const std::array<std::uint32_t, 4> block = rng.block();
      std::memcpy(words + i, block.data(), sizeof block);
    }
    // Plain loops of eight, which the compiler turns into one register each; Eigen has the
    // logarithm.
    Eigen::Array<float, kPairs, 1> radius, along, across;
    for (int i = 0; i < kPairs; ++i)
      radius[i] = static_cast<float>((words[i] >> 8 & 0xffffff) + 1) * 0x1p-24f;
    radius = square_roots<kPairs>(-2.0f * radius.log());
    for (int i = 0; i < kPairs; ++i) {
      const std::int32_t word = words[kPairs + i];
      const float angle =
          static_cast<float>(word >> 8) * (std::numbers::pi_v<float> / 4 * 0x1p-23f);
      const float r = (word & 2) != 0 ? radius[i] : -radius[i];
      along[i] = r * cosine(angle);
      across[i] = r * sine(angle);
    }
    for (int i = 0; i < kPairs; ++i) {
      const bool keep = (words[kPairs + i] & 1) != 0;
      out[first + i] = keep ? along[i] : across[i];
      out[first + kPairs + i] = keep ? across[i] : along[i];
    }
  }
}

}  // namespace hotloop
