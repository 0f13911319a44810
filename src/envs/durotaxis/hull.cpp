#include "envs/durotaxis/hull.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace hotloop {
namespace {

// Ranks in ascending order of x, then y, then index. Counting the points before each one is
// quadratic, but vectorises, and is a few times faster than sorting a hundred points.
void rank_points(int n, const float* __restrict x, const float* __restrict y,
                 std::int32_t* __restrict ranks) {
  std::fill_n(ranks, n, 0);
  for (int j = 0; j < n; ++j) {
    const float at_x = x[j];
    const float at_y = y[j];
    for (int i = 0; i < n; ++i) {
      const bool is_lower = (at_y < y[i]) | ((at_y == y[i]) & (j < i));
      ranks[i] += (at_x < x[i]) | ((at_x == x[i]) & is_lower);
    }
  }
}

}  // namespace

Hull convex_hull(std::span<const float> x, std::span<const float> y,
                 std::span<std::int32_t> vertices) {
  const int n = static_cast<int>(x.size());
  assert(n <= kMaxHullPoints && vertices.size() >= x.size());
  std::array<std::int32_t, kMaxHullPoints> ranks, points;
  rank_points(n, x.data(), y.data(), ranks.data());
  for (int i = 0; i < n; ++i) points[ranks[i]] = i;
  const auto end = std::unique(points.begin(), points.begin() + n,
                               [&](int a, int b) { return x[a] == x[b] && y[a] == y[b]; });
  const int distinct = static_cast<int>(end - points.begin());

  // Twice the area of the triangle, positive for a left turn.
  const auto turn = [&](int o, int a, int b) {
    const double ox = x[o], oy = y[o];
    return (x[a] - ox) * (y[b] - oy) - (y[a] - oy) * (x[b] - ox);
  };
  std::array<std::int32_t, 2 * kMaxHullPoints> chain;
  int size = 0;
  const auto extend = [&](int index, int min_size) {
    while (size >= min_size && !(turn(chain[size - 2], chain[size - 1], index) > 0)) --size;
    chain[size++] = index;
  };
  for (int i = 0; i < distinct; ++i) extend(points[i], 2);  // lower chain, left to right
  const int lower = size + 1;
  for (int i = distinct - 2; i >= 0; --i) extend(points[i], lower);  // upper chain, right to left
  Hull hull;
  hull.count = distinct > 1 ? size - 1 : size;  // the last point repeats the first
  std::copy_n(chain.begin(), hull.count, vertices.begin());
  for (int i = 2; i < hull.count; ++i) hull.area += 0.5 * turn(chain[0], chain[i - 1], chain[i]);
  return hull;
}

}  // namespace hotloop
