#include "record/learning_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/statistics.hpp"
#include "record/json_text.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

double x_of(const CurvePoint& point, CurveAxis axis) {
  return axis == CurveAxis::seconds ? point.seconds : static_cast<double>(point.updates);
}

double end_of(const LearningCurve& curve, CurveAxis axis) {
  return axis == CurveAxis::seconds ? curve.end_seconds : curve.end_updates;
}

bool all_have_points(const std::vector<LearningCurve>& curves) {
  return !curves.empty() &&
         std::none_of(curves.begin(), curves.end(), [](const auto& c) { return c.points.empty(); });
}

// The smallest x at which all runs have a value.
double start_of(const std::vector<LearningCurve>& curves, CurveAxis axis) {
  double start = -std::numeric_limits<double>::infinity();
  for (const LearningCurve& curve : curves) start = std::max(start, x_of(curve.points[0], axis));
  return start;
}

double number_or_none(const Json& value) { return value.is_number() ? value.get<double>() : kNone; }

double training_seconds(const Json& row) {
  const double evaluating = row.value("time", Json::object()).value("evaluate", 0.0);
  return row.at("seconds").get<double>() * (1 - evaluating);
}

}  // namespace

LearningCurve read_learning_curve(const std::string& path, const std::string& y) {
  LearningCurve curve;
  if (!std::filesystem::exists(path)) return curve;
  const FileContents contents = read_file(path);
  std::string_view rest = contents.text();
  rest = rest.substr(0, rest.rfind('\n') + 1);  // drop a line that is still being written
  Json previous;                                // the evaluation in the previous row
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    try {
      const Json row = json_or_null(line, kLogRow);
      const CurvePoint at{row.at("env_steps"), row.at("updates"), training_seconds(row), kNone};
      curve.end_updates = static_cast<double>(at.updates);
      curve.end_seconds = at.seconds;
      if (row.at("greedy_return").is_null()) continue;
      const Json measures = row.value("greedy_measures", Json::object());
      Json evaluation = {row.at("greedy_return"), measures};
      if (evaluation == previous) continue;
      previous = std::move(evaluation);
      CurvePoint point = at;
      point.y = number_or_none(y == "return" ? row.at("greedy_return") : measures.value(y, Json()));
      if (!std::isnan(point.y)) curve.points.push_back(point);
    } catch (const Json::exception&) {
      throw RunError(fmt::format("{}:{}: not a row of metrics", path, number));
    }
  }
  return curve;
}

std::vector<double> every_x(const std::vector<LearningCurve>& curves, CurveAxis axis) {
  if (!all_have_points(curves)) return {};
  const double start = start_of(curves, axis);
  std::vector<double> grid;
  for (const LearningCurve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      if (x_of(point, axis) >= start) grid.push_back(x_of(point, axis));
    }
  }
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

std::vector<double> even_x(const std::vector<LearningCurve>& curves, CurveAxis axis, int steps) {
  const std::vector<double> all = every_x(curves, axis);
  const auto first = std::find_if(all.begin(), all.end(), [](double x) { return x > 0; });
  if (first == all.end()) return {};
  double end = all.back();
  for (const LearningCurve& curve : curves) end = std::max(end, end_of(curve, axis));
  if (*first == end) return {end};
  std::vector<double> grid;
  for (int i = 0; i < steps; ++i) {
    grid.push_back(*first * std::pow(end / *first, static_cast<double>(i) / steps));
  }
  grid.push_back(end);
  return grid;
}

std::vector<MedianPoint> median_curve(const std::vector<LearningCurve>& curves, CurveAxis axis,
                                      const std::vector<double>& grid) {
  if (!all_have_points(curves)) return {};
  std::vector<MedianPoint> result;
  const double start = start_of(curves, axis);
  for (const double x : grid) {
    if (x < start) continue;
    std::vector<double> values;
    for (const LearningCurve& curve : curves) {
      const auto after = std::find_if(curve.points.begin(), curve.points.end(),
                                      [&](const auto& point) { return x_of(point, axis) > x; });
      values.push_back(std::prev(after)->y);
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    result.push_back({x, quantile(values, 0.5), *low, *high});
  }
  return result;
}

double first_reached(const std::vector<MedianPoint>& curve, double level) {
  const auto reached =
      std::find_if(curve.begin(), curve.end(), [&](const auto& p) { return p.median >= level; });
  return reached == curve.end() ? kNone : reached->x;
}

}  // namespace hotloop
