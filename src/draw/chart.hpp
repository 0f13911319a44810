// Charts as SVG: panels side by side or in rows, each with its own axes, and one shared legend
// below.
//
// Series with the same name have the same colour in every panel. Text is escaped. Values that are
// not finite, or not positive on a logarithmic axis, are skipped.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace hotloop {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = std::numeric_limits<double>::quiet_NaN();   // low..high: a band around a line, or an
  double high = std::numeric_limits<double>::quiet_NaN();  // error bar at a point; NaN = none
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // in the order of x
};

enum class ChartMark { line, point };

struct ChartPanel {
  std::string title{}, x_label{}, y_label{};
  ChartMark mark = ChartMark::line;
  bool log_x = false;
  bool from_zero = false;  // the y axis always includes 0
  // If not empty, x is an index into these, and the series are drawn side by side at each.
  std::vector<std::string> categories{};
  std::vector<ChartSeries> series{};
};

struct Chart {
  std::string title;
  std::vector<ChartPanel> panels;
  int columns = 0;  // small panels, this many per row; 0 = one row of large panels
};

std::string draw_chart(const Chart& chart);

// Throws UsageError unless the path ends in .svg. Commands check this before they start work.
void check_chart_path(const std::string& path);

// Round numbers within [low, high], low < high, at least two of them. Linear: about five multiples
// of 1, 2 or 5 times a power of ten. Logarithmic (0 < low): powers of ten, and if these are too
// few, also 2 and 5 times them.
std::vector<double> linear_ticks(double low, double high);
std::vector<double> log_ticks(double low, double high);

// Escapes text for use between XML tags and in quoted attributes.
std::string escape_xml(const std::string& text);

}  // namespace hotloop
