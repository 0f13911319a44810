#include "envs/durotaxis_hull.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace hotloop {
namespace {

struct Point {
  std::uint64_t key;  // x, then y
  std::int32_t index;
};

}  // namespace

Hull convex_hull(std::span<const float> x, std::span<const float> y,
                 std::span<std::int32_t> vertices) {
  const int n = static_cast<int>(x.size());
  assert(n <= kMostHullPoints && vertices.size() >= x.size());
  std::array<Point, kMostHullPoints> points;
  for (int i = 0; i < n; ++i) points[i] = {sortable(x[i]) << 32 | sortable(y[i]), i};
  std::sort(points.begin(), points.begin() + n, [](const Point& a, const Point& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
  const auto end = std::unique(points.begin(), points.begin() + n,
                               [](const Point& a, const Point& b) { return a.key == b.key; });
  const int distinct = static_cast<int>(end - points.begin());

  // Twice the area of the triangle, positive if it turns left.
  const auto turn = [&](int o, int a, int b) {
    const double ox = x[o], oy = y[o];
    return (x[a] - ox) * (y[b] - oy) - (y[a] - oy) * (x[b] - ox);
  };
  std::array<std::int32_t, 2 * kMostHullPoints> chain;
  int size = 0;
  const auto extend = [&](int index, int least) {
    while (size >= least && !(turn(chain[size - 2], chain[size - 1], index) > 0)) --size;
    chain[size++] = index;
  };
  for (int i = 0; i < distinct; ++i) extend(points[i].index, 2);  // below, left to right
  const int lower = size + 1;
  for (int i = distinct - 2; i >= 0; --i) extend(points[i].index, lower);  // above, and back
  Hull hull;
  hull.count = distinct > 1 ? size - 1 : size;  // the last one is the first one again
  std::copy_n(chain.begin(), hull.count, vertices.begin());
  for (int i = 2; i < hull.count; ++i) hull.area += 0.5 * turn(chain[0], chain[i - 1], chain[i]);
  return hull;
}

}  // namespace hotloop
