// The observation of a colony, padded to M = hard_limit cells:
//   graph    [19]     cells, edges, density; centroid; minimum x and y, maximum x and y; box width,
//                     height, area; hull area; mean, maximum and sum of degrees; mean, maximum and
//                     sum of intensities
//   nodes    [M, 11]  x, y, intensity, in-degree, out-degree, centrality, distance to the centroid,
//                     boundary, new, age / 100, stagnation / 50
//   edges    [M, 3]   of the edge from a cell's parent: length, unit direction; 0 for roots
//   parents  [M]      index of the parent; -1 for roots, -2 where there is no cell
// Centrality is 1 / (d + 1e-6), where d is the mean distance to the cells at other places, and 1 if
// there are none. The last state of an episode can have more than M cells. Then the first M are
// shown. None of them has a parent beyond M: cells are in the order of their birth, except for
// cells that were set up together, and those are M at most.
//
// `scale: unit` scales all features to about 1. It divides positions by width and height, other
// lengths by a tenth of the width (where a colony starts), areas by the area of the field, counts
// of cells by M, out-degrees by 10. Centrality c becomes c' / (1 + c') with c' = c times a tenth of
// the width. Intensities I are divided by the maximum of the field; if the field can be
// exponential, log(1 + I) is divided by log(1 + maximum).
#include <algorithm>
#include <cassert>
#include <cmath>

#include "envs/durotaxis/world.hpp"

namespace hotloop {
namespace {

constexpr float kSamePlace = 1e-6f;

struct Scale {
  bool unit;
  bool logarithmic;
  double max_intensity;
  float across, up;  // positions
  float length;
  float area;
  float count;
  float degree;

  explicit Scale(const DurotaxisRules& rules)
      : unit(rules.unit),
        logarithmic(rules.substrate != DurotaxisSubstrate::linear),
        max_intensity(std::max(rules.max_intensity(), 1e-6)),
        across(unit ? 1.0f / rules.width : 1),
        up(unit ? 1.0f / rules.height : 1),
        length(unit ? 10.0f / rules.width : 1),
        area(across * up),
        count(unit ? 1.0f / rules.hard_limit : 1),
        degree(unit ? 0.1f : 1) {}

  float intensity(double value, double cells = 1) const {
    if (!unit) return static_cast<float>(value);
    const double max = max_intensity * cells;
    return static_cast<float>(logarithmic ? std::log1p(value) / std::log1p(max) : value / max);
  }
  float centrality(float value) const {
    if (!unit) return value;
    const float near = value / length;
    return near / (1 + near);
  }
};

float length_of(float x, float y) { return std::sqrt(x * x + y * y); }

// For each cell, the sum of the distances to the cells at other places, and the number of those.
// Each sum is in cell order. The inner loop has no reduction, so it vectorises. It runs to a
// multiple of the vector width: sums beyond the last cell are not used.
void add_distances(int count, const float* __restrict x, const float* __restrict y,
                   float* __restrict sums, float* __restrict others) {
  const int lanes = (count + kDurotaxisLanes - 1) / kDurotaxisLanes * kDurotaxisLanes;
  std::fill_n(sums, lanes, 0.0f);
  std::fill_n(others, lanes, 0.0f);
  for (int j = 0; j < count; ++j) {
    const float at_x = x[j];
    const float at_y = y[j];
    for (int i = 0; i < lanes; ++i) {
      const float distance = length_of(x[i] - at_x, y[i] - at_y);
      const bool is_other = distance > kSamePlace;
      sums[i] += is_other ? distance : 0.0f;
      others[i] += is_other ? 1.0f : 0.0f;
    }
  }
}

void show_graph(const DurotaxisShape& shape, int count, const Scale& scale, float* to) {
  const double n = count;
  const double m = shape.edges;
  const float width = shape.high_x - shape.low_x;
  const float height = shape.high_y - shape.low_y;
  to[0] = static_cast<float>(n) * scale.count;
  to[1] = static_cast<float>(m) * scale.count;
  to[2] = count > 1 ? static_cast<float>(m / (n * (n - 1))) : 0;
  to[3] = static_cast<float>(shape.x) * scale.across;
  to[4] = static_cast<float>(shape.y) * scale.up;
  to[5] = shape.low_x * scale.across;
  to[6] = shape.low_y * scale.up;
  to[7] = shape.high_x * scale.across;
  to[8] = shape.high_y * scale.up;
  to[9] = width * scale.across;
  to[10] = height * scale.up;
  to[11] = width * height * scale.area;
  to[12] = static_cast<float>(shape.hull_area) * scale.area;
  to[13] = count > 0 ? static_cast<float>(m / n) : 0;
  to[14] = static_cast<float>(shape.max_degree) * scale.degree;
  to[15] = static_cast<float>(2 * m) * scale.count;
  to[16] = count > 0 ? scale.intensity(shape.intensity_sum / n) : 0;
  to[17] = scale.intensity(shape.max_intensity);
  to[18] = scale.intensity(shape.intensity_sum, scale.unit ? 1 / scale.count : 1);
}

}  // namespace

void DurotaxisWorld::observe(float* obs) const {
  const Scale scale(*rules);
  const int max_cells = rules->hard_limit;
  const int shown = std::min(count, max_cells);
  float* node = obs + kDurotaxisGraphFeatures;
  float* edge = node + max_cells * kDurotaxisCellFeatures;
  float* parents = edge + max_cells * kDurotaxisEdgeFeatures;
  show_graph(shape, count, scale, obs);
  std::fill(node + shown * kDurotaxisCellFeatures, edge, 0.0f);
  std::fill(edge + shown * kDurotaxisEdgeFeatures, parents, 0.0f);
  std::fill(parents + shown, parents + max_cells, -2.0f);

  std::array<float, 2 * kDurotaxisMaxCells> distances, others;
  add_distances(count, cells.x, cells.y, distances.data(), others.data());
  const auto middle_x = static_cast<float>(shape.x);
  const auto middle_y = static_cast<float>(shape.y);
  for (int i = 0; i < shown; ++i, node += kDurotaxisCellFeatures, edge += kDurotaxisEdgeFeatures) {
    const float x = cells.x[i];
    const float y = cells.y[i];
    const int parent = cells.parent[i];
    const int shown_age = std::max(0, age(i) - 1);  // before the latest step
    const float central = others[i] > 0 ? 1 / (distances[i] / others[i] + 1e-6f) : 1;
    node[0] = x * scale.across;
    node[1] = y * scale.up;
    node[2] = scale.intensity(cells.intensity[i]);
    node[3] = parent < 0 ? 0 : 1;
    node[4] = static_cast<float>(cells.children[i]) * scale.degree;
    node[5] = scale.centrality(central);
    node[6] = length_of(x - middle_x, y - middle_y) * scale.length;
    node[7] = cells.boundary[i];
    node[8] = i >= count - spawned ? 1 : 0;
    node[9] = static_cast<float>(shown_age) / 100;
    node[10] = static_cast<float>(stagnation(shown_age)) / 50;
    assert(parent < shown);
    parents[i] = static_cast<float>(parent);
    if (parent < 0) {
      std::fill_n(edge, kDurotaxisEdgeFeatures, 0.0f);
      continue;
    }
    const float dx = x - cells.x[parent];
    const float dy = y - cells.y[parent];
    const float right = dx + 1e-8f;  // so that cells at the same place have a direction, too
    const float up = dy + 1e-8f;
    const float norm = length_of(right, up);
    edge[0] = length_of(dx, dy) * scale.length;
    edge[1] = right / norm;
    edge[2] = up / norm;
  }
}

}  // namespace hotloop
