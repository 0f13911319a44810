// Charts as SVG: panels side by side or in rows, each with its axes, one legend below for all of them.
//
// A series has the same colour in every panel, by its name. Text is escaped; values that are NaN, and on a
// logarithmic axis those that are not positive, are left out.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace hotloop {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = std::numeric_limits<double>::quiet_NaN();   // low..high: a band about a line, a bar
  double high = std::numeric_limits<double>::quiet_NaN();  // through a point; NaN = none
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
  bool from_zero = false;  // the y axis shows 0, whatever the values
  // If not empty, x counts these from 0, and the series stand side by side at each.
  std::vector<std::string> categories{};
  std::vector<ChartSeries> series{};
};

struct Chart {
  std::string title;
  std::vector<ChartPanel> panels;
  int columns = 0;  // panels in a row, which are then small ones; 0 = all of them, large
};

std::string draw_chart(const Chart& chart);

// Throws UsageError unless the path ends in .svg: what a command checks before its work.
void check_chart_path(const std::string& path);

// Round numbers of which at least two lie within [low, high], low < high: multiples of 1, 2 or 5 times a
// power of ten, about five of them; logarithmic (0 < low): powers of ten, or with too few of these also
// their doubles and fivefolds.
std::vector<double> linear_ticks(double low, double high);
std::vector<double> log_ticks(double low, double high);

// For text between tags and in quoted attributes of XML.
std::string escape_xml(const std::string& text);

}  // namespace hotloop
