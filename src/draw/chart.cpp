#include "draw/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

// Distances in pixels.
struct PanelSize {
  double width, height;
};
constexpr PanelSize kOnePanel = {640, 330}, kManyPanels = {440, 330}, kSmallPanels = {340, 230};
constexpr double kLeft = 62, kRight = 16, kAbove = 30, kBelow = 50;  // margins around the axes
constexpr double kTitle = 30, kLegendLine = 20, kLetter = 7;         // approximate letter width

// Okabe and Ito's palette, which is safe for colour-blind readers, then darker colours.
constexpr std::array<std::string_view, 12> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                       "#e69f00", "#56b4e9", "#000000", "#7f3c8d",
                                                       "#8b4513", "#5f7f00", "#7f7f7f", "#004d40"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Never empty: adds room around a single value; 0 to 1 without values.
  Range spread() const {
    if (low > high) return {0, 1};
    if (low < high) return *this;
    const double room = low == 0 ? 1 : std::abs(low) / 2;
    return {low - room, high + room};
  }
};

class Svg {
 public:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1) {
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>)",
        x1, y1, x2, y2, colour, width);
  }
  void words(double x, double y, std::string_view anchor, const std::string& text, int size = 12) {
    add(R"(<text x="{:.1f}" y="{:.1f}" font-size="{}" text-anchor="{}">{}</text>)", x, y, size,
        anchor, escape_xml(text));
  }
  std::string finish() { return std::move(text_) + "</svg>\n"; }

 private:
  std::string text_;
};

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e12 || (size > 0 && size < 1e-4)) return fmt::format("{:.3g}", value);
  if (size >= 1e6) return fmt::format("{:.6g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.6g}k", value / 1e3);
  return fmt::format("{:.6g}", value);
}

// The names of all series, in the order of their first appearance.
std::vector<std::string> series_names(const Chart& chart) {
  std::vector<std::string> names;
  for (const ChartPanel& panel : chart.panels) {
    for (const ChartSeries& series : panel.series) {
      if (std::find(names.begin(), names.end(), series.name) == names.end()) {
        names.push_back(series.name);
      }
    }
  }
  return names;
}

// One panel with its outer corner at (left, top).
class PanelDrawing {
 public:
  PanelDrawing(Svg& svg, const ChartPanel& panel, double left, double top, const PanelSize& size)
      : svg_(svg),
        panel_(panel),
        left_(left + kLeft),
        right_(left + size.width - kRight),
        top_(top + kAbove),
        bottom_(top + size.height - kBelow) {
    Range x, y;
    if (panel.from_zero) y.include(0);
    for (const ChartSeries& series : panel.series) {
      for (const ChartPoint& point : series.points) {
        if (!shows(point)) continue;
        x.include(panel.log_x ? std::log10(point.x) : point.x);
        for (const double value : {point.y, point.low, point.high}) y.include(value);
      }
    }
    x_ = panel.categories.empty() ? x.spread()
                                  : Range{-0.5, static_cast<double>(panel.categories.size()) - 0.5};
    y_ = y.spread();
    const double room = 0.04 * (y_.high - y_.low);
    y_ = {y_.low - room, y_.high + room};
  }

  void axes() {
    svg_.words((left_ + right_) / 2, top_ - 10, "middle", panel_.title, 13);
    for (const double y : linear_ticks(y_.low, y_.high)) {
      svg_.line(left_, pixel_y(y), right_, pixel_y(y), "#e5e5e5");
      svg_.words(left_ - 6, pixel_y(y) + 4, "end", tick_text(y));
    }
    for (std::size_t i = 0; i < panel_.categories.size(); ++i) {
      svg_.words(pixel_x(static_cast<double>(i)), bottom_ + 17, "middle", panel_.categories[i]);
    }
    if (panel_.categories.empty()) {
      const std::vector<double> ticks = panel_.log_x
                                            ? log_ticks(std::pow(10, x_.low), std::pow(10, x_.high))
                                            : linear_ticks(x_.low, x_.high);
      for (const double x : ticks) {
        const double at = pixel_x(panel_.log_x ? std::log10(x) : x);
        svg_.line(at, top_, at, bottom_, "#e5e5e5");
        svg_.words(at, bottom_ + 17, "middle", tick_text(x));
      }
    }
    svg_.line(left_, bottom_, right_, bottom_, "#444");
    svg_.line(left_, top_, left_, bottom_, "#444");
    svg_.words((left_ + right_) / 2, bottom_ + 38, "middle", panel_.x_label);
    const double x = left_ - 46, y = (top_ + bottom_) / 2;
    svg_.add(
        R"svg(<text x="{0:.1f}" y="{1:.1f}" transform="rotate(-90 {0:.1f} {1:.1f})" text-anchor="middle">{2}</text>)svg",
        x, y, escape_xml(panel_.y_label));
  }

  // A line through a single point is invisible, so it is drawn as a point.
  void line(const ChartSeries& series, std::string_view colour) {
    const auto is_shown = [&](const ChartPoint& point) { return shows(point); };
    if (std::count_if(series.points.begin(), series.points.end(), is_shown) == 1) {
      points(series, colour, 0, 1);
      return;
    }
    std::string middle, upper, lower;
    for (const ChartPoint& point : series.points) {
      if (!shows(point)) continue;
      const double x = pixel_x(panel_.log_x ? std::log10(point.x) : point.x);
      middle += fmt::format("{:.1f},{:.1f} ", x, pixel_y(point.y));
      if (!has_interval(point)) continue;
      upper += fmt::format("{:.1f},{:.1f} ", x, pixel_y(point.high));
      lower.insert(0, fmt::format("{:.1f},{:.1f} ", x, pixel_y(point.low)));
    }
    if (!upper.empty()) {
      svg_.add(R"(<polygon points="{}{}" fill="{}" fill-opacity="0.15"/>)", upper, lower, colour);
    }
    if (!middle.empty()) {
      svg_.add(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.8"/>)", middle,
               colour);
    }
  }

  // At each category, the series has slot `place` of `places`.
  void points(const ChartSeries& series, std::string_view colour, int place, int places) {
    const double spacing = std::min(16.0, 0.7 * (right_ - left_) / (x_.high - x_.low) / places);
    const double shift = panel_.categories.empty() ? 0 : spacing * (place - (places - 1) / 2.0);
    for (const ChartPoint& point : series.points) {
      if (!shows(point)) continue;
      const double x = pixel_x(panel_.log_x ? std::log10(point.x) : point.x) + shift;
      if (has_interval(point)) {
        svg_.line(x, pixel_y(point.low), x, pixel_y(point.high), colour, 1.6);
        for (const double end : {point.low, point.high}) {
          svg_.line(x - 3, pixel_y(end), x + 3, pixel_y(end), colour, 1.6);
        }
      }
      svg_.add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", x, pixel_y(point.y),
               colour);
    }
  }

 private:
  bool shows(const ChartPoint& point) const {
    return std::isfinite(point.x) && std::isfinite(point.y) && (!panel_.log_x || point.x > 0);
  }
  static bool has_interval(const ChartPoint& point) {
    return std::isfinite(point.low) && std::isfinite(point.high);
  }
  double pixel_x(double x) const {
    return left_ + (x - x_.low) / (x_.high - x_.low) * (right_ - left_);
  }
  double pixel_y(double y) const {
    return bottom_ - (y - y_.low) / (y_.high - y_.low) * (bottom_ - top_);
  }

  Svg& svg_;
  const ChartPanel& panel_;
  double left_, right_, top_, bottom_;  // of the axes, in pixels
  Range x_, y_;                         // values that the axes span; x_ is log10 if log_x
};

// The position of each name in the legend, which wraps at the width of the chart.
struct LegendPlace {
  double x = 0;
  int line = 0;
};
std::vector<LegendPlace> legend_places(const std::vector<std::string>& names, double width) {
  std::vector<LegendPlace> places;
  LegendPlace next{kLeft, 0};
  for (const std::string& name : names) {
    const double needs = 34 + kLetter * static_cast<double>(name.size());
    if (next.x + needs > width && next.x > kLeft) next = {kLeft, next.line + 1};
    places.push_back(next);
    next.x += needs;
  }
  return places;
}

}  // namespace

std::vector<double> linear_ticks(double low, double high) {
  const double rough = (high - low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough <= power       ? 1
                               : rough <= 2 * power ? 2
                               : rough <= 5 * power ? 5
                                                    : 10);
  std::vector<double> ticks;
  const auto last = static_cast<long long>(std::floor(high / step + 1e-9));
  for (auto i = static_cast<long long>(std::ceil(low / step - 1e-9)); i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  const double decades = std::log10(high / low);
  if (decades < 0.7) return linear_ticks(low, high);  // too few of 1, 2, 5, 10 would fit
  std::vector<double> ticks;
  const int step = decades > 8 ? 2 : 1;
  for (int e = static_cast<int>(std::floor(std::log10(low))); std::pow(10, e) <= high; e += step) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, e);
      const bool wanted = factor == 1 || decades < 3;
      if (wanted && tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string escape_xml(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += c >= 0 && c < ' ' ? ' ' : c;  // XML does not allow control characters
    }
  }
  return result;
}

void check_chart_path(const std::string& path) {
  if (!path.ends_with(".svg")) {
    throw UsageError(fmt::format("'{}': the file name of a figure must end in .svg", path));
  }
}

std::string draw_chart(const Chart& chart) {
  const std::vector<std::string> names = series_names(chart);
  const int count = static_cast<int>(chart.panels.size());
  const int columns = std::max(1, chart.columns > 0 ? std::min(chart.columns, count) : count);
  const int rows = (count + columns - 1) / columns;
  const PanelSize size = chart.columns > 0 ? kSmallPanels : count > 1 ? kManyPanels : kOnePanel;
  const double width = size.width * columns;
  const double panels_end = kTitle + size.height * rows;
  const std::vector<LegendPlace> places = legend_places(names, width);
  const int legend_lines = places.empty() ? 0 : places.back().line + 1;
  const double height = panels_end + kLegendLine * legend_lines + 8;
  Svg svg;
  svg.add(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" font-family="sans-serif" font-size="12">)",
      width, height);
  svg.add(R"(<rect width="100%" height="100%" fill="white"/>)");
  svg.words(width / 2, 20, "middle", chart.title, 15);
  const auto colour_of = [&](const std::string& name) {
    const auto place = std::find(names.begin(), names.end(), name) - names.begin();
    return kColours[static_cast<std::size_t>(place) % kColours.size()];
  };
  for (int p = 0; p < count; ++p) {
    const ChartPanel& panel = chart.panels[p];
    PanelDrawing drawing(svg, panel, size.width * (p % columns),
                         kTitle + size.height * (p / columns), size);
    drawing.axes();
    const int series_count = static_cast<int>(panel.series.size());
    for (int i = 0; i < series_count; ++i) {
      const ChartSeries& series = panel.series[i];
      if (panel.mark == ChartMark::line) {
        drawing.line(series, colour_of(series.name));
      } else {
        drawing.points(series, colour_of(series.name), i, series_count);
      }
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double y = panels_end + kLegendLine * places[i].line + 8;
    svg.add(R"(<rect x="{:.1f}" y="{:.1f}" width="14" height="4" fill="{}"/>)", places[i].x, y - 6,
            colour_of(names[i]));
    svg.words(places[i].x + 19, y, "start", names[i]);
  }
  return svg.finish();
}

}  // namespace hotloop
