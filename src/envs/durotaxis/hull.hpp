// Convex hull of points in the plane: Andrew's monotone chain ("Another efficient algorithm for
// convex hulls in two dimensions", 1979).
//
// Vertices are strict: a point on the line between two others is not a vertex. Of several points at
// the same place, only the one with the lowest index can be a vertex.
#pragma once

#include <cstdint>
#include <span>

namespace hotloop {

inline constexpr int kMaxHullPoints = 1000;

struct Hull {
  int count = 0;    // number of vertices, fewer than 3 if all points lie on a line
  double area = 0;  // 0 if all points lie on a line
};

// Writes the indices of the vertices counter-clockwise into `vertices`, which has room for all
// points. Starts at the leftmost vertex, the lowest one if there are several.
Hull convex_hull(std::span<const float> x, std::span<const float> y,
                 std::span<std::int32_t> vertices);

// A key that sorts like the float itself, so that pairs can be compared as one integer.
inline std::uint64_t sortable(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value + 0.0f);  // -0 becomes 0
  return bits >> 31 ? ~bits & 0xFFFFFFFFu : bits | 0x80000000u;
}

}  // namespace hotloop
