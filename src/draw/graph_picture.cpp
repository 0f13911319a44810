#include "draw/graph_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "draw/picture_file.hpp"

namespace hotloop {
namespace {

using Colour = std::array<int, 3>;
struct Point {
  double x = 0, y = 0;
};

// value / max from -1 to 1: blue, white, red.
Colour colour_of(double value, double max) {
  constexpr int kShades = 50;  // on each side of white; few, because a GIF has only 256 colours
  const double share = max > 0 ? std::clamp(value / max, -1.0, 1.0) : 0;
  const double t = std::round(share * kShades) / kShades;
  constexpr std::array<double, 3> kBlue = {33, 102, 172}, kWhite = {247, 247, 247},
                                  kRed = {178, 24, 43};
  Colour colour;
  for (int c = 0; c < 3; ++c) {
    const double end = t < 0 ? kBlue[c] : kRed[c];
    colour[c] = static_cast<int>(std::lround(kWhite[c] + std::abs(t) * (end - kWhite[c])));
  }
  return colour;
}

class SvgCanvas {
 public:
  SvgCanvas(double width, double height) {
    add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}">)", width, height);
    add(R"(<rect width="100%" height="100%" fill="white"/>)");
  }
  void line(Point a, Point b, Colour c) {
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#{:02x}{:02x}{:02x}"/>)",
        a.x, a.y, b.x, b.y, c[0], c[1], c[2]);
  }
  void disc(Point p, double radius, Colour c) {
    add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="#{:02x}{:02x}{:02x}" stroke="#555"/>)",
        p.x, p.y, radius, c[0], c[1], c[2]);
  }
  void text(Point p, const std::string& words) {
    add(R"(<text x="{:.1f}" y="{:.1f}" font-size="12" text-anchor="middle" font-family="sans-serif">{}</text>)",
        p.x, p.y, words);
  }
  std::string finish() { return text_ + "</svg>\n"; }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  std::string text_;
};

// Lines and discs as pixels, without text.
class PixelCanvas {
 public:
  PixelCanvas(double width, double height)
      : picture_{static_cast<int>(width), static_cast<int>(height), {}} {
    picture_.rgb.assign(static_cast<std::size_t>(picture_.width) * picture_.height * 3, 255);
  }
  void line(Point a, Point b, Colour c) {
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    const int steps = static_cast<int>(length * 2) + 1;
    for (int i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / steps;
      set(static_cast<int>(a.x + t * (b.x - a.x)), static_cast<int>(a.y + t * (b.y - a.y)), c);
    }
  }
  void disc(Point p, double radius, Colour c) {
    const int reach = static_cast<int>(radius) + 1;
    for (int y = -reach; y <= reach; ++y) {
      for (int x = -reach; x <= reach; ++x) {
        const double distance = std::hypot(x, y);
        if (distance > radius) continue;
        set(static_cast<int>(p.x) + x, static_cast<int>(p.y) + y,
            distance > radius - 1.2 ? Colour{85, 85, 85} : c);
      }
    }
  }
  void text(Point, const std::string&) {}
  Picture finish() { return std::move(picture_); }

 private:
  void set(int x, int y, Colour c) {
    if (x < 0 || y < 0 || x >= picture_.width || y >= picture_.height) return;
    std::uint8_t* at = &picture_.rgb[(static_cast<std::size_t>(y) * picture_.width + x) * 3];
    for (int i = 0; i < 3; ++i) at[i] = static_cast<std::uint8_t>(c[i]);
  }
  Picture picture_;
};

constexpr double kUnit = 30, kColumnGap = 1.2 * kUnit, kRowGap = 4 * kUnit;
constexpr double kMargin = 40, kLegend = 60;
constexpr int kMaxInARow = 2'000, kMaxDrawnEdges = 100'000;  // 130 MB of pixels, 10 MB of text

template <class Canvas>
auto draw(const Graph& graph, std::span<const float> weights, std::span<const float> biases,
          GraphScale limits) {
  const std::vector<int> rows = picture_rows(graph);
  std::array<int, 5> counts{};
  for (const int row : rows) ++counts[row];
  const int widest = std::max(*std::max_element(counts.begin(), counts.end()), 12);
  if (widest > kMaxInARow || graph.edges() > kMaxDrawnEdges) {
    throw UsageError(fmt::format(
        "the graph is too large for a picture: {} neurons in a row and {} edges; allowed: up to {} "
        "and {}",
        widest, graph.edges(), kMaxInARow, kMaxDrawnEdges));
  }
  const double width = 2 * kMargin + (widest - 1) * kColumnGap;
  const double height = 2 * kMargin + 4 * kRowGap + kLegend;
  std::vector<Point> places(graph.nodes);
  std::array<int, 5> placed{};
  for (int node = 0; node < graph.nodes; ++node) {
    const int row = rows[node];
    const double first = (width - (counts[row] - 1) * kColumnGap) / 2;
    places[node] = {first + placed[row]++ * kColumnGap, kMargin + row * kRowGap};
  }
  const auto max_abs = [](std::span<const float> values) {
    double largest = 0;
    for (const float v : values) largest = std::max(largest, std::abs(static_cast<double>(v)));
    return largest;
  };
  const double max_weight = limits.weight > 0 ? limits.weight : max_abs(weights);
  const double max_bias = limits.bias > 0 ? limits.bias : max_abs(biases);

  Canvas canvas(width, height);
  for (int node = graph.inputs; node < graph.nodes; ++node) {
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
      canvas.line(places[graph.sources[e]], places[node], colour_of(weights[e], max_weight));
    }
  }
  for (int node = 0; node < graph.nodes; ++node) {
    const double bias = graph.is_input(node) ? 0 : biases[node - graph.inputs];
    canvas.disc(places[node], 10, colour_of(bias, max_bias));
    canvas.text({places[node].x, places[node].y + 4}, fmt::format("{}", node));
  }
  // The legend: two colour scales.
  const auto scale = [&](double centre, const char* name, double end) {
    constexpr int kSteps = 40;
    for (int i = -kSteps; i <= kSteps; ++i) {
      const double x = centre + 1.5 * i;
      for (double dx = 0; dx < 1.5; dx += 0.5) {
        canvas.line({x + dx, height - 45}, {x + dx, height - 33}, colour_of(i, kSteps));
      }
    }
    canvas.text({centre, height - 15}, fmt::format("{} {:.3g} to {:.3g}", name, -end, end));
  };
  scale(width / 4, "weight", max_weight);
  scale(width * 3 / 4, "bias", max_bias);
  return canvas.finish();
}

}  // namespace

std::vector<int> picture_rows(const Graph& graph) {
  std::vector<int> rows(graph.nodes, 2);
  for (int node = graph.inputs; node < graph.nodes; ++node) {
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) {
      if (graph.is_input(graph.sources[e])) rows[node] = 1;
    }
  }
  for (int node = graph.nodes - graph.outputs; node < graph.nodes; ++node) {
    for (int e = graph.first[node]; e < graph.first[node + 1]; ++e) rows[graph.sources[e]] = 3;
  }
  std::fill_n(rows.begin(), graph.inputs, 0);
  std::fill_n(rows.end() - graph.outputs, graph.outputs, 4);
  return rows;
}

Picture graph_picture(const Graph& graph, std::span<const float> weights,
                      std::span<const float> biases, GraphScale limits) {
  return draw<PixelCanvas>(graph, weights, biases, limits);
}

void write_graph_picture(const std::string& path, const Graph& graph,
                         std::span<const float> weights, std::span<const float> biases) {
  if (path.ends_with(".svg")) {
    write_file_atomically(path, draw<SvgCanvas>(graph, weights, biases, {}));
  } else if (path.ends_with(".png")) {
    write_png(path, graph_picture(graph, weights, biases), 1);
  } else {
    throw UsageError(
        fmt::format("'{}': the file name of a graph picture must end in .svg or .png", path));
  }
}

}  // namespace hotloop
