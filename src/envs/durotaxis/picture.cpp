// A colony on its field, about 150 pixels wide. Dark ground is soft. Shows hull, edges, cells (new
// ones brighter), the centroid as a cross, the success line, and below a bar with the progress of
// the centroid.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "envs/durotaxis/durotaxis.hpp"
#include "envs/durotaxis/hull.hpp"

namespace hotloop {
namespace {

constexpr int kWidth = 150;
constexpr int kShades = 48;  // of the field; few, so that a film needs few colours
constexpr int kBar = 6;      // height of the bar, with a gap of 2 above and below

using Colour = std::array<std::uint8_t, 3>;
constexpr Colour kFrame = {24, 26, 30};
constexpr Colour kGoal = {240, 200, 60};
constexpr Colour kHull = {120, 170, 220};
constexpr Colour kEdge = {90, 200, 130};
constexpr Colour kCell = {235, 90, 80};
constexpr Colour kNewCell = {255, 190, 150};
constexpr Colour kCentroid = {255, 255, 255};

class Canvas {
 public:
  Canvas(int width, int height)
      : picture{width, height,
                std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height * 3)} {}

  void dot(int x, int y, const Colour& colour) {
    if (x < 0 || x >= picture.width || y < 0 || y >= picture.height) return;
    const auto at = (static_cast<std::size_t>(y) * picture.width + x) * 3;
    std::copy(colour.begin(), colour.end(), picture.rgb.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void box(int left, int top, int width, int height, const Colour& colour) {
    for (int y = top; y < top + height; ++y) {
      for (int x = left; x < left + width; ++x) dot(x, y, colour);
    }
  }
  void line(double x0, double y0, double x1, double y1, const Colour& colour) {
    const int steps = std::max(1, static_cast<int>(std::max(std::abs(x1 - x0), std::abs(y1 - y0))));
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      dot(static_cast<int>(x0 + part * (x1 - x0)), static_cast<int>(y0 + part * (y1 - y0)), colour);
    }
  }

  Picture picture;
};

// From dark blue to a light green grey. Exponential fields are shown by their logarithm.
Colour ground(const DurotaxisField& field, double column, int width) {
  const auto height = [&](double x) {
    const double intensity = field.at(x, width);
    return field.exponential ? std::log(std::max(intensity, 1e-9)) : intensity;
  };
  const double least = height(0);
  const double span = height(width - 1.0) - least;
  const double part = span > 0 ? (height(column) - least) / span : 0;
  const int shade = std::clamp(static_cast<int>(part * kShades), 0, kShades - 1);
  return {static_cast<std::uint8_t>(30 + shade * 2), static_cast<std::uint8_t>(40 + shade * 2),
          static_cast<std::uint8_t>(70 + shade)};
}

}  // namespace

Picture DurotaxisArray::picture(int row) const {
  const DurotaxisWorld& world = worlds_[row];
  const DurotaxisCells& cells = world.cells;
  const int size = (rules_.width + kWidth - 1) / kWidth;  // of a pixel
  const int width = (rules_.width + size - 1) / size;
  const int height = (rules_.height + size - 1) / size;
  const double scale = 1.0 / size;
  Canvas canvas(width, height + kBar + 4);
  for (int x = 0; x < width; ++x) {
    canvas.box(x, 0, 1, height, ground(world.field, x * size, rules_.width));
  }
  canvas.box(static_cast<int>(rules_.success_line() * scale), 0, 1, height, kGoal);

  const auto join = [&](int a, int b, const Colour& colour) {
    canvas.line(cells.x[a] * scale, cells.y[a] * scale, cells.x[b] * scale, cells.y[b] * scale,
                colour);
  };
  const auto count = static_cast<std::size_t>(world.count);
  std::vector<std::int32_t> vertices(count);
  const Hull hull = convex_hull({cells.x, count}, {cells.y, count}, vertices);
  for (int i = 0; i < hull.count; ++i) join(vertices[i], vertices[(i + 1) % hull.count], kHull);
  for (int i = 0; i < world.count; ++i) {
    if (cells.parent[i] >= 0) join(cells.parent[i], i, kEdge);
  }
  for (int i = 0; i < world.count; ++i) {
    canvas.dot(static_cast<int>(cells.x[i] * scale), static_cast<int>(cells.y[i] * scale),
               i >= world.count - world.spawned ? kNewCell : kCell);
  }
  if (world.count > 0) {
    const int x = static_cast<int>(world.shape.x * scale);
    const int y = static_cast<int>(world.shape.y * scale);
    canvas.box(x - 1, y, 3, 1, kCentroid);
    canvas.box(x, y - 1, 1, 3, kCentroid);
  }

  canvas.box(0, height, width, kBar + 4, kFrame);
  const double progress = std::clamp(world.shape.x / rules_.goal(), 0.0, 1.0);
  canvas.box(2, height + 2, static_cast<int>(progress * (width - 4)), kBar, kGoal);
  return std::move(canvas.picture);
}

}  // namespace hotloop
