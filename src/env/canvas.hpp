// A picture to draw on: boxes, thick lines, discs and polygons in plain colours. There is no
// anti-aliasing, so that animations need few colours. Coordinates are pixels, y points down, and
// drawing is clipped.
#pragma once

#include <hotloop/env.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace hotloop {

using Colour = std::array<std::uint8_t, 3>;

// Colours that all environments share, for a uniform look.
inline constexpr Colour kPaper = {246, 245, 240};
inline constexpr Colour kInk = {40, 44, 52};
inline constexpr Colour kFaint = {176, 178, 182};
inline constexpr Colour kWarm = {204, 92, 62};
inline constexpr Colour kCool = {58, 112, 168};
inline constexpr Colour kAim = {222, 170, 40};

struct Point {
  double x = 0, y = 0;
};

class Canvas {
 public:
  Canvas(int width, int height, const Colour& ground = kPaper)
      : picture_{width, height,
                 std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height * 3)} {
    box({0, 0}, {static_cast<double>(width), static_cast<double>(height)}, ground);
  }

  int width() const { return picture_.width; }
  int height() const { return picture_.height; }
  Picture take() && { return std::move(picture_); }

  void box(Point a, Point b, const Colour& colour) {
    fill(a, b, colour, [](Point) { return true; });
  }
  void disc(Point centre, double radius, const Colour& colour) {
    fill({centre.x - radius, centre.y - radius}, {centre.x + radius, centre.y + radius}, colour,
         [&](Point p) { return std::hypot(p.x - centre.x, p.y - centre.y) <= radius; });
  }
  // With round ends.
  void line(Point a, Point b, double thickness, const Colour& colour) {
    const double dx = b.x - a.x, dy = b.y - a.y;
    const double square = std::max(dx * dx + dy * dy, 1e-12);
    const double half = thickness / 2;
    fill({std::min(a.x, b.x) - half, std::min(a.y, b.y) - half},
         {std::max(a.x, b.x) + half, std::max(a.y, b.y) + half}, colour, [&](Point p) {
           const double along =
               std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / square, 0.0, 1.0);
           return std::hypot(p.x - a.x - along * dx, p.y - a.y - along * dy) <= half;
         });
  }
  // Even-odd: a pixel is inside if a ray to its right crosses an odd number of sides.
  void polygon(std::span<const Point> corners, const Colour& colour) {
    if (corners.empty()) return;
    Point low = corners[0], high = corners[0];
    for (const Point& c : corners) {
      low = {std::min(low.x, c.x), std::min(low.y, c.y)};
      high = {std::max(high.x, c.x), std::max(high.y, c.y)};
    }
    fill(low, high, colour, [&](Point p) {
      bool inside = false;
      Point before = corners.back();
      for (const Point& c : corners) {
        const bool crosses = (c.y > p.y) != (before.y > p.y);
        if (crosses && p.x < c.x + (before.x - c.x) * (p.y - c.y) / (before.y - c.y)) {
          inside = !inside;
        }
        before = c;
      }
      return inside;
    });
  }

 private:
  // Colours the pixels of a rectangle whose centre is inside the shape.
  template <class Inside>
  void fill(Point low, Point high, const Colour& colour, Inside&& inside) {
    const auto bound = [](double value, int max) {
      return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(max)));
    };
    const int x_end = bound(std::ceil(high.x), width()), y_end = bound(std::ceil(high.y), height());
    for (int y = bound(std::floor(low.y), height()); y < y_end; ++y) {
      for (int x = bound(std::floor(low.x), width()); x < x_end; ++x) {
        if (!inside(Point{x + 0.5, y + 0.5})) continue;
        const auto at = (static_cast<std::size_t>(y) * picture_.width + x) * 3;
        std::copy(colour.begin(), colour.end(),
                  picture_.rgb.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  Picture picture_;
};

}  // namespace hotloop
