#include "draw/run_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/text.hpp"
#include "record/json_text.hpp"
#include "record/learning_curve.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

using Names = std::vector<std::string>;

struct Cell {
  std::size_t row;
  double value;
};
using Column = std::vector<Cell>;  // only the rows with a number, in their order

constexpr std::size_t kMaxPoints = 500;
constexpr std::size_t kMaxColumns = 256;
constexpr int kPanelsInARow = 4;
constexpr const char* kExploring = "exploring";
constexpr const char* kGreedy = "greedy";
constexpr const char* kTraining = "training";

// The numbers in a file's rows. It takes memory only for the numbers that the file has.
struct Table {
  std::string path;
  std::vector<double> env_steps{};  // [rows], at least one
  Names names{};                    // of the top-level columns in file order, without env_steps
  Names measures{};                 // of the columns in "measures"
  std::map<std::string, Column> columns{}, measure_columns{};  // by name

  Column column(const std::string& name) const {  // empty if absent: earlier versions wrote fewer
    const auto found = columns.find(name);
    return found == columns.end() ? Column{} : found->second;
  }

  // Adds the numbers of the next row.
  void add(const Json& row, Names& new_names, std::map<std::string, Column>& to) const {
    for (const auto& [name, value] : row.items()) {
      if (name == "env_steps" || (!value.is_number() && !value.is_null())) continue;
      const auto [column, is_new] = to.try_emplace(name);
      if (is_new) new_names.push_back(name);
      if (to.size() > kMaxColumns) {
        throw RunError(
            fmt::format("{}:{}: more than {} columns", path, env_steps.size() + 1, kMaxColumns));
      }
      if (value.is_number()) column->second.push_back({env_steps.size(), value.get<double>()});
    }
  }
};

Table read_table(const std::string& path) {
  Table table{path};
  const FileContents contents = read_file(path);
  std::string_view rest = contents.text();
  rest = rest.substr(0, rest.rfind('\n') + 1);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    const Json row = json_or_null(line, kLogRow);
    const bool sound = row.is_object() && row.contains("env_steps") && row["env_steps"].is_number();
    if (!sound) {
      throw RunError(
          fmt::format("{}:{}: not a row with env_steps", path, table.env_steps.size() + 1));
    }
    table.add(row, table.names, table.columns);
    if (row.contains("measures")) table.add(row["measures"], table.measures, table.measure_columns);
    table.env_steps.push_back(row["env_steps"].get<double>());
  }
  if (table.env_steps.empty()) throw RunError(fmt::format("{}: has no rows yet", path));
  return table;
}

// Which of `count` points are drawn: every `stride`-th from `first` on, always including the last.
struct Thinning {
  std::size_t stride, first;
  explicit Thinning(std::size_t count)
      : stride(std::max<std::size_t>(1, (count + kMaxPoints - 1) / kMaxPoints)),
        first(count == 0 ? 0 : (count - 1) % stride) {}
};

ChartSeries thinned(const char* name, const std::vector<ChartPoint>& points) {
  ChartSeries series{name, {}};
  const Thinning thinning(points.size());
  for (std::size_t i = thinning.first; i < points.size(); i += thinning.stride) {
    series.points.push_back(points[i]);
  }
  return series;
}

ChartSeries series_of(const Table& table, const Column& column, const char* name) {
  std::vector<ChartPoint> points;
  for (const Cell& cell : column) points.push_back({table.env_steps[cell.row], cell.value});
  return thinned(name, points);
}

// Each evaluation once.
ChartSeries greedy_series(const Table& table, const std::string& y) {
  std::vector<ChartPoint> points;
  for (const CurvePoint& point : read_learning_curve(table.path, y).points) {
    points.push_back({static_cast<double>(point.env_steps), point.y});
  }
  return thinned(kGreedy, points);
}

// Mean and std over the episodes of the window in which the column is defined.
ChartSeries running_mean(const Table& table, const Column& column) {
  ChartSeries series{fmt::format("mean of {} episodes", kPlotWindow), {}};
  const Thinning thinning(table.env_steps.size());
  auto begin = column.begin(), end = begin;  // the cells of the window
  for (std::size_t last = thinning.first; last < table.env_steps.size(); last += thinning.stride) {
    while (end != column.end() && end->row <= last) ++end;
    while (begin != end && begin->row + kPlotWindow <= last) ++begin;
    double sum = 0, squares = 0;
    const auto count = static_cast<double>(end - begin);
    for (auto cell = begin; cell != end; ++cell) sum += cell->value;
    const double mean = sum / count;  // NaN if there are none, which is not drawn
    for (auto cell = begin; cell != end; ++cell)
      squares += (cell->value - mean) * (cell->value - mean);
    const double spread = std::sqrt(squares / count);
    series.points.push_back({table.env_steps[last], mean, mean - spread, mean + spread});
  }
  return series;
}

void check_names(const Names& show, const Names& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& name : show) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UsageError(fmt::format("--show: \"{}\" is unknown; {}", name, suggestion(name, names)));
  }
}

ChartPanel panel_of(const std::string& name, std::vector<ChartSeries> series) {
  return {.title = name, .x_label = "env steps", .series = std::move(series)};
}

Chart chart_of(const std::string& run_dir, const char* what, std::vector<ChartPanel> panels) {
  std::filesystem::path folder = std::filesystem::absolute(run_dir).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  const int columns = panels.size() > 2 ? kPanelsInARow : 0;
  return {fmt::format("{}: {}", folder.filename().string(), what), std::move(panels), columns};
}

bool is_empty(const ChartPanel& panel) {
  return std::all_of(panel.series.begin(), panel.series.end(),
                     [](const ChartSeries& series) { return series.points.empty(); });
}

ChartPanel metrics_panel(const Table& table, const std::string& name) {
  if (name == "return") {
    return panel_of(name, {series_of(table, table.column("exploring_return"), kExploring),
                           greedy_series(table, name)});
  }
  if (const auto measure = table.measure_columns.find(name);
      measure != table.measure_columns.end()) {
    return panel_of(name,
                    {series_of(table, measure->second, kExploring), greedy_series(table, name)});
  }
  return panel_of(name, {series_of(table, table.column(name), kTraining)});
}

}  // namespace

Chart plot_metrics(const std::string& run_dir, const std::vector<std::string>& show) {
  const std::string path = run_dir + "/metrics.jsonl";
  if (!std::filesystem::exists(path)) {
    throw UsageError(fmt::format("'{}' is not a run folder: it has no metrics.jsonl", run_dir));
  }
  const Table table = read_table(path);
  Names known = {"return"};
  for (const Names* names : {&table.names, &table.measures}) {
    known.insert(known.end(), names->begin(), names->end());
  }
  check_names(show, known);
  std::vector<ChartPanel> panels;
  for (const std::string& name : show) panels.push_back(metrics_panel(table, name));
  if (show.empty()) {
    Names names = {"return", "loss", "entropy"};
    names.insert(names.end(), table.measures.begin(), table.measures.end());
    for (const std::string& name : names) {
      ChartPanel panel = metrics_panel(table, name);
      if (!is_empty(panel)) panels.push_back(std::move(panel));
    }
  }
  return chart_of(run_dir, "training", std::move(panels));
}

Chart plot_episodes(const std::string& run_dir, const std::vector<std::string>& show) {
  const std::string path = run_dir + "/episodes.jsonl";
  if (!std::filesystem::exists(path)) {
    throw UsageError(fmt::format(
        "'{}' has no episodes.jsonl; to write it, train with --set run.episode_log=true", run_dir));
  }
  const Table table = read_table(path);
  check_names(show, table.names);
  std::vector<ChartPanel> panels;
  for (const std::string& name : show.empty() ? table.names : show) {
    panels.push_back(panel_of(name, {running_mean(table, table.column(name))}));
  }
  return chart_of(run_dir, "episodes, mean and standard deviation", std::move(panels));
}

}  // namespace hotloop
