#include "study/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <hotloop/error.hpp>

#include "core/json.hpp"
#include "core/text.hpp"
#include "draw/chart.hpp"
#include "draw/table_text.hpp"

namespace hotloop {
namespace {

constexpr int kReturn = -1;             // stands for the return in lists of measure indices
constexpr std::size_t kTableWidth = 5;  // measures per table

// Indices of the environment's measures in report order: the score first, the return last.
std::vector<int> report_columns(const EnvSpec& env) {
  std::vector<int> columns;
  for (int i = 0; i < env.measure_count(); ++i) {
    columns.insert(env.measures[i] == "score" ? columns.begin() : columns.end(), i);
  }
  columns.push_back(kReturn);
  return columns;
}

std::string column_name(const EnvSpec& env, int column) {
  return column == kReturn ? "return" : std::string(env.measures[column]);
}

// The mean at each start, over the runs where the value is defined. values is [runs][starts].
std::vector<double> mean_per_start(const std::vector<std::vector<double>>& values) {
  std::vector<double> means;
  for (std::size_t start = 0; start < values[0].size(); ++start) {
    double sum = 0, count = 0;
    for (const std::vector<double>& run : values) {
      if (std::isnan(run[start])) continue;
      sum += run[start];
      ++count;
    }
    means.push_back(sum / count);
  }
  return means;
}

ComparedRow row_over(const Contestant& who, const std::vector<const Played*>& runs,
                     const EnvSpec& env) {
  ComparedRow row{.who = who, .runs = static_cast<int>(runs.size())};
  for (const Played* played : runs) {
    row.episodes += static_cast<int>(played->evaluation.episodes.size());
  }
  for (const int column : report_columns(env)) {
    std::vector<std::vector<double>> values;  // [runs][starts]
    for (const Played* played : runs) {
      values.push_back(column == kReturn ? returns_of(played->evaluation)
                                         : measures_of(played->evaluation, column));
    }
    row.measures.push_back(summarise(mean_per_start(values)));
  }
  return row;
}

bool same_name(const Contestant& a, const Contestant& b) {
  // A script may have the name of a spec.
  return a.value == b.value && a.policy == b.policy && a.run.empty() == b.run.empty();
}

bool same_policy(const Contestant& a, const Contestant& b) {
  return same_name(a, b) && a.recipe == b.recipe;
}

// The last `parts` components of a path.
std::string tail(const std::string& path, int parts) {
  std::filesystem::path rest = std::filesystem::path(path).lexically_normal();
  if (!rest.has_filename()) rest = rest.parent_path();  // "runs/a/"
  std::filesystem::path result;
  for (int i = 0; i < parts && rest.has_filename(); ++i, rest = rest.parent_path()) {
    result = result.empty() ? rest.filename() : rest.filename() / result;
  }
  return result.string();
}

// The shortest end of the path that distinguishes this run from all others.
std::string run_name(const std::string& run, const std::vector<Played>& played) {
  constexpr int kMaxParts = 8;
  for (int parts = 1; parts < kMaxParts; ++parts) {
    const std::string name = tail(run, parts);
    const bool is_unique = std::none_of(played.begin(), played.end(), [&](const Played& p) {
      return p.who.run != run && !p.who.run.empty() && tail(p.who.run, parts) == name;
    });
    if (is_unique) return name;
  }
  return run;
}

// The policy's name; if several groups share it, followed by the algorithm or run that differs.
std::string group_name(const std::vector<const Played*>& group, const std::vector<Played>& played) {
  const Contestant& who = group[0]->who;
  std::set<std::string> recipes, others;  // others: the algorithms of other groups
  for (const Played& p : played) {
    if (!same_name(p.who, who)) continue;
    recipes.insert(p.who.recipe);
    if (p.who.recipe != who.recipe) others.insert(p.who.algorithm);
  }
  if (recipes.size() < 2) return who.policy;
  const bool by_algorithm = others.size() == recipes.size() - 1 && !others.contains(who.algorithm);
  if (by_algorithm) return fmt::format("{} ({})", who.policy, who.algorithm);
  const std::string first = run_name(who.run, played);
  return group.size() == 1
             ? fmt::format("{} ({})", who.policy, first)
             : fmt::format("{} ({} and {} more)", who.policy, first, group.size() - 1);
}

std::string policy_text(const ComparedRow& row) {
  if (row.runs > 1) return fmt::format("**{}**, {} runs", row.who.policy, row.runs);
  if (row.who.seed) return fmt::format("{}, seed {}{}", row.who.policy, *row.who.seed, row.note);
  return row.who.policy;
}

}  // namespace

Comparison compare(const EnvSpec& env, const std::string& option, std::uint64_t seed,
                   const std::vector<Played>& played) {
  Comparison result{.env = std::string(env.name), .option = option, .seed = seed};
  for (const int column : report_columns(env)) result.measures.push_back(column_name(env, column));
  std::vector<std::string> values;
  for (const Played& p : played) {
    result.episodes = static_cast<int>(p.evaluation.episodes.size());
    if (std::find(values.begin(), values.end(), p.who.value) == values.end()) {
      values.push_back(p.who.value);
    }
  }
  for (const std::string& value : values) {
    for (auto first = played.begin(); first != played.end(); ++first) {
      if (first->who.value != value) continue;
      const auto is_same = [&](const Played& p) { return same_policy(p.who, first->who); };
      if (std::find_if(played.begin(), first, is_same) != first) continue;  // already in a group
      std::vector<const Played*> group;
      for (const Played& p : played) {
        if (is_same(p)) group.push_back(&p);
      }
      const std::string name = group_name(group, played);
      for (const Played* p : group) {
        ComparedRow& row = result.rows.emplace_back(row_over(p->who, {p}, env));
        row.who.policy = name;
        row.stands_for_policy = group.size() == 1;
        const auto has_its_seed = [&](const Played* q) { return q->who.seed == p->who.seed; };
        if (std::count_if(group.begin(), group.end(), has_its_seed) > 1) {
          row.note = fmt::format(" ({})", run_name(p->who.run, played));
        }
      }
      if (group.size() > 1) {
        result.rows.push_back(
            row_over({.value = value, .policy = name, .run = "", .seed = {}}, group, env));
      }
    }
  }
  return result;
}

int find_measure(const std::string& name, const EnvSpec& env) {
  std::vector<std::string> names;
  for (const int column : report_columns(env)) names.push_back(column_name(env, column));
  if (name.empty()) return names[0] == "score" ? 0 : static_cast<int>(names.size()) - 1;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw UsageError(fmt::format("--measure: {} has no measure \"{}\"; {}", env.name, name,
                               suggestion(name, views)));
}

std::string comparison_markdown(const Comparison& comparison, std::optional<int> measure) {
  std::string text;
  const std::size_t begin = measure ? static_cast<std::size_t>(*measure) : 0;
  const std::size_t end = measure ? begin + 1 : comparison.measures.size();
  for (std::size_t from = begin; from < end; from += kTableWidth) {
    const std::size_t to = std::min(from + kTableWidth, end);
    const bool varies = !comparison.option.empty();
    text += varies ? fmt::format("| {} | policy | episodes |", comparison.option)
                   : std::string("| policy | episodes |");
    for (std::size_t m = from; m < to; ++m) text += fmt::format(" {} |", comparison.measures[m]);
    text += varies ? "\n|---|---|---:|" : "\n|---|---:|";
    for (std::size_t m = from; m < to; ++m) text += "---:|";
    text += "\n";
    for (const ComparedRow& row : comparison.rows) {
      if (varies) text += fmt::format("| {} ", row.who.value);
      text += fmt::format("| {} | {} |", policy_text(row), row.episodes);
      for (std::size_t m = from; m < to; ++m) {
        text += fmt::format(" {} |", interval_text(row.measures[m]));
      }
      text += "\n";
    }
    text += "\n";
  }
  return text + fmt::format(
                    "{}: mean [95 % confidence interval, bootstrapped over starts; omitted if all "
                    "values are equal]; every policy plays the same {} starts (seed {}).\n",
                    comparison.env, comparison.episodes, comparison.seed);
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text = "value,policy,run,seed,measure,mean,low,high,count\n";
  for (const ComparedRow& row : comparison.rows) {
    for (std::size_t m = 0; m < comparison.measures.size(); ++m) {
      const Summary& s = row.measures[m];
      text +=
          fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_field(row.who.value),
                      csv_field(row.who.policy), row.runs > 1 ? "pooled" : csv_field(row.who.run),
                      row.who.seed ? fmt::format("{}", *row.who.seed) : "", comparison.measures[m],
                      csv_number(s.mean), csv_number(s.low), csv_number(s.high), s.count);
    }
  }
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    Json measures;
    for (std::size_t m = 0; m < comparison.measures.size(); ++m) {
      const Summary& s = row.measures[m];
      measures[comparison.measures[m]] = {{"mean", number_or_null(s.mean)},
                                          {"low", number_or_null(s.low)},
                                          {"high", number_or_null(s.high)},
                                          {"count", s.count}};
    }
    rows.push_back({{"value", row.who.value},
                    {"policy", row.who.policy},
                    {"run", row.who.run},
                    {"seed", row.who.seed ? Json(*row.who.seed) : Json()},
                    {"runs", row.runs},
                    {"episodes", row.episodes},
                    {"measures", std::move(measures)}});
  }
  return {{"env", comparison.env},
          {"option", comparison.option},
          {"episodes", comparison.episodes},
          {"seed", comparison.seed},
          {"rows", std::move(rows)}};
}

std::string comparison_figure(const Comparison& comparison, int measure) {
  const std::string& name = comparison.measures[measure];
  ChartPanel panel{.x_label = comparison.option, .y_label = name, .mark = ChartMark::point};
  for (const ComparedRow& row : comparison.rows) {
    if (!row.stands_for_policy) continue;
    auto category = std::find(panel.categories.begin(), panel.categories.end(), row.who.value);
    if (category == panel.categories.end()) {
      category = panel.categories.insert(category, row.who.value);
    }
    const std::string label =
        row.runs > 1 ? fmt::format("{}, {} runs", row.who.policy, row.runs) : row.who.policy;
    auto series = std::find_if(panel.series.begin(), panel.series.end(),
                               [&](const ChartSeries& s) { return s.name == label; });
    if (series == panel.series.end()) {
      series = panel.series.insert(series, ChartSeries{label, {}});
    }
    const Summary& s = row.measures[measure];
    series->points.push_back({.x = static_cast<double>(category - panel.categories.begin()),
                              .y = s.mean,
                              .low = s.low,
                              .high = s.high});
  }
  return draw_chart({.title = fmt::format("{}: {}, mean and 95 % interval, {} episodes per run",
                                          comparison.env, name, comparison.episodes),
                     .panels = {std::move(panel)}});
}

}  // namespace hotloop
