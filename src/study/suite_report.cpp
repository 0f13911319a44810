// The reports of a suite: a table, and learning curves as CSV and as a figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "core/system.hpp"
#include "core/text.hpp"
#include "draw/chart.hpp"
#include "draw/table_text.hpp"
#include "study/suite.hpp"
#include "train/feasible.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

template <class Get>
std::vector<double> collect(const std::vector<TrainResult>& results, Get&& get) {
  std::vector<double> values;
  for (const TrainResult& r : results) {
    if (const double value = get(r); !r.run_dir.empty() && !std::isnan(value)) {
      values.push_back(value);
    }
  }
  return values;
}

std::string spread_text(const std::vector<double>& values) {
  return fmt::format("{} ({} to {})", cell_number(quantile(values, 0.5)),
                     cell_number(quantile(values, 0)), cell_number(quantile(values, 1)));
}

double final_median(const std::vector<LearningCurve>& curves) {
  std::vector<double> finals;
  for (const LearningCurve& curve : curves) {
    if (!curve.points.empty()) finals.push_back(curve.points.back().y);
  }
  return quantile(finals, 0.5);
}

// The level that counts as good in each environment: 5 % below the best final median of its rows.
std::map<std::string, double> good_levels(const Suite& suite, const SuiteCurves& curves) {
  std::map<std::string, double> levels;
  for (std::size_t i = 0; i < suite.rows.size(); ++i) {
    const double median = final_median(curves[i]);
    if (std::isnan(median)) continue;
    const double level = median - 0.05 * std::abs(median);
    const auto [at, is_first] = levels.try_emplace(suite.rows[i].spec.env, level);
    at->second = std::max(at->second, level);
  }
  return levels;
}

std::string budget_text(const RunOptions& run) {
  return run.steps == kNoLimit ? fmt::format("{} episodes", run.episodes)
                               : fmt::format("{}", run.steps);
}

std::string when_good(const std::vector<LearningCurve>& curves, double level) {
  const double seconds = first_reached(
      median_curve(curves, CurveAxis::seconds, every_x(curves, CurveAxis::seconds)), level);
  const double updates = first_reached(
      median_curve(curves, CurveAxis::updates, every_x(curves, CurveAxis::updates)), level);
  return fmt::format("{} | {} |",
                     std::isnan(seconds) ? std::string("-") : fmt::format("{:.2f} s", seconds),
                     std::isnan(updates) ? std::string("-") : fmt::format("{:.0f}", updates));
}

std::string markdown_row(const SuiteRow& row, const std::vector<TrainResult>& results,
                         bool shows_score, const std::string& good) {
  const auto returns = collect(results, [](const auto& r) { return r.eval_return_mean; });
  std::string text = fmt::format("| {} | `{}` | {} | {:.4g} |", row.title, row.spec.name,
                                 budget_text(row.spec.run), row.spec.learn.updates_per_step);
  if (returns.empty()) {
    for (int column = 0; column < (shows_score ? 10 : 9); ++column) text += " - |";
    return text + "\n";
  }
  const auto best = collect(results, [](const auto& r) { return r.best_return_mean; });
  const auto scores = collect(results, [](const auto& r) { return r.score_greedy; });
  const auto solved =
      collect(results, [](const auto& r) { return r.solved ? r.solved_seconds : kNone; });
  const auto wall = collect(results, [](const auto& r) { return r.wall_seconds; });
  const auto updates =
      collect(results, [](const auto& r) { return static_cast<double>(r.updates); });
  const auto reached =
      std::count_if(returns.begin(), returns.end(), [&](double r) { return r >= row.bar; });
  text += fmt::format(" {:.0f} | {} | {} to {} | {} |", quantile(updates, 0.5),
                      return_text(quantile(returns, 0.5)), return_text(quantile(returns, 0)),
                      return_text(quantile(returns, 1)), return_text(quantile(best, 0.5)));
  if (shows_score) text += scores.empty() ? " - |" : fmt::format(" {} |", spread_text(scores));
  text += std::isnan(row.bar) ? " - |"
                              : fmt::format(" {:g}: {} of {} |", row.bar, reached, results.size());
  const bool can_be_solved = !std::isnan(solved_threshold(row.spec));
  text += solved.empty() ? (can_be_solved ? " never |" : " - |")
                         : fmt::format(" {:.2f} s ({} of {}) |", quantile(solved, 0.5),
                                       solved.size(), returns.size());
  return text + fmt::format(" {} {:.2f} s |\n", good, quantile(wall, 0.5));
}

}  // namespace

SuiteCurves suite_curves(const Suite& suite, const SuiteResults& results) {
  SuiteCurves curves(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const TrainResult& result : results[i]) {
      if (result.run_dir.empty()) continue;
      curves[i].push_back(read_learning_curve(result.run_dir + "/metrics.jsonl", suite.figure_y));
      curves[i].back().seed = result.seed;
    }
  }
  return curves;
}

std::string suite_markdown(const Suite& suite, const SuiteResults& results,
                           const SuiteCurves& curves, int jobs) {
  bool shows_score = false;
  for (const auto& row : results) {
    shows_score |= !collect(row, [](const auto& r) { return r.score_greedy; }).empty();
  }
  std::string text = fmt::format(
      "| run | spec | env steps | updates per step | updates, median | greedy return, median | "
      "lowest to highest | best evaluation, median |{} bar: seeds at it | solved after, median | "
      "within 5 % of the best {} after | after updates | wall time, median |\n|",
      shows_score ? " greedy score, median (lowest to highest) |" : "", suite.figure_y);
  for (int column = 0; column < (shows_score ? 14 : 13); ++column) text += "---|";
  text += "\n";
  const std::map<std::string, double> levels = good_levels(suite, curves);
  for (std::size_t i = 0; i < suite.rows.size(); ++i) {
    const auto level = levels.find(suite.rows[i].spec.env);
    text += markdown_row(suite.rows[i], results[i], shows_score,
                         when_good(curves[i], level == levels.end() ? kNone : level->second));
  }
  text += fmt::format(
      "\n{} seeds (1 to {}); greedy returns are means over each spec's evaluation episodes, of the "
      "final parameters unless the spec stops when solved; the best {} is the highest final median "
      "among the rows of an environment, and a row reaches it when its median curve does, "
      "evaluation time excluded; wall times and \"solved after\" include evaluation; {} run{} at a "
      "time on {}; hotloop {}.\n",
      suite.seeds, suite.seeds, suite.figure_y, jobs, jobs == 1 ? "" : "s", cpu_name(), version());
  return text;
}

std::string suite_csv(const Suite& suite, const SuiteCurves& curves) {
  std::string text = fmt::format("row,seed,env_steps,updates,seconds,{}\n", suite.figure_y);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (const LearningCurve& curve : curves[i]) {
      for (const CurvePoint& p : curve.points) {
        text += fmt::format("{},{},{},{},{},{}\n", csv_field(suite.rows[i].title), curve.seed,
                            p.env_steps, p.updates, csv_number(p.seconds), csv_number(p.y));
      }
    }
  }
  return text;
}

std::string suite_figure(const Suite& suite, const SuiteCurves& curves) {
  constexpr int kSteps = 160;
  const bool bands = curves.size() <= 4;  // more would hide each other
  std::size_t max_seeds = 0;              // finished ones
  for (const auto& row : curves) max_seeds = std::max(max_seeds, row.size());
  const auto panel = [&](CurveAxis axis, const std::string& x_label) {
    ChartPanel result{.x_label = x_label, .y_label = "greedy " + suite.figure_y, .log_x = true};
    for (std::size_t i = 0; i < curves.size(); ++i) {
      ChartSeries series{suite.rows[i].title, {}};
      for (const MedianPoint& p : median_curve(curves[i], axis, even_x(curves[i], axis, kSteps))) {
        series.points.push_back(bands ? ChartPoint{p.x, p.median, p.low, p.high}
                                      : ChartPoint{p.x, p.median});
      }
      result.series.push_back(std::move(series));
    }
    return result;
  };
  return draw_chart({.title = fmt::format("{}: median of {} seeds{}", suite.name, max_seeds,
                                          bands ? ", lowest to highest" : ""),
                     .panels = {panel(CurveAxis::seconds, "seconds of training"),
                                panel(CurveAxis::updates, "updates")}});
}

}  // namespace hotloop
