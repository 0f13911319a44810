// The slow twin of src/envs/durotaxis/hull: a vertex is an endpoint of a line that has all points
// on one side. O(n^3), in extended precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace hotloop::reference {

// Whether each point is a strict vertex of the convex hull; all false if they lie on a line. Of
// several points at the same place only the first counts.
inline std::vector<bool> hull_vertices(const std::vector<std::pair<float, float>>& points) {
  using Point = std::pair<long double, long double>;
  std::vector<bool> is_vertex(points.size(), false);
  bool has_area = false;
  const auto at = [&](std::size_t i) { return Point(points[i].first, points[i].second); };
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto first = std::find(points.begin(), points.end(), points[i]) - points.begin();
    if (first == static_cast<std::ptrdiff_t>(i)) firsts.push_back(i);
  }
  for (const std::size_t p : firsts) {
    for (const std::size_t q : firsts) {
      if (p == q) continue;
      const Point a = at(p), b = at(q);
      const auto is_left_or_between = [&](std::size_t r) {
        const Point c = at(r);
        const long double turn = (b.first - a.first) * (c.second - a.second) -
                                 (b.second - a.second) * (c.first - a.first);
        if (turn != 0) {
          has_area = true;
          return turn > 0;
        }
        return std::min(a, b) <= c && c <= std::max(a, b);
      };
      bool is_edge = true;
      for (const std::size_t r : firsts) {
        is_edge = is_left_or_between(r);
        if (!is_edge) break;
      }
      if (is_edge) is_vertex[p] = is_vertex[q] = true;
    }
  }
  if (!has_area) is_vertex.assign(points.size(), false);
  return is_vertex;
}

// The area of the polygon of the vertices, ordered around their mean.
inline double hull_area(const std::vector<std::pair<float, float>>& points) {
  const std::vector<bool> is_vertex = hull_vertices(points);
  std::vector<std::pair<double, double>> ring;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_vertex[i]) ring.emplace_back(points[i]);
  }
  double x = 0, y = 0;
  for (const auto& point : ring) {
    x += point.first / static_cast<double>(ring.size());
    y += point.second / static_cast<double>(ring.size());
  }
  std::sort(ring.begin(), ring.end(), [&](const auto& a, const auto& b) {
    return std::atan2(a.second - y, a.first - x) < std::atan2(b.second - y, b.first - x);
  });
  double area = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const auto& a = ring[i];
    const auto& b = ring[(i + 1) % ring.size()];
    area += 0.5 * ((a.first - x) * (b.second - y) - (b.first - x) * (a.second - y));
  }
  return area;
}

}  // namespace hotloop::reference
