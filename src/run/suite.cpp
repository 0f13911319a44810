#include "run/suite.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/system.hpp"
#include "core/text.hpp"
#include "run/session.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::string suite_folder() { return default_spec_folder() + "/suites"; }

template <std::size_t N>
void check_keys(const YAML::Node& map, const std::array<std::string_view, N>& allowed,
                const std::string& path) {
  if (!map.IsMap()) throw UsageError(fmt::format("{}: expected a mapping", path));
  for (const auto& entry : map) {
    const auto key = entry.first.as<std::string>();
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      throw UsageError(fmt::format("{}:{}: {}: unknown key; {}", path, entry.first.Mark().line + 1,
                                   key, suggestion(key, allowed)));
    }
  }
}

template <class T>
T value_of(const YAML::Node& map, const std::string& key, std::string_view expected,
           const std::string& path) {
  try {
    return map[key].as<T>();
  } catch (const YAML::Exception&) {
    throw UsageError(
        fmt::format("{}:{}: {}: expected {}", path, map[key].Mark().line + 1, key, expected));
  }
}

SuiteRow read_row(const YAML::Node& node, const std::string& path) {
  constexpr std::array<std::string_view, 4> kKeys = {"title", "spec", "set", "bar"};
  check_keys(node, kKeys, path);
  const std::string place = fmt::format("{}:{}", path, node.Mark().line + 1);
  if (!node["spec"]) throw UsageError(fmt::format("{}: a row needs a spec", place));
  SuiteRow row;
  std::vector<std::string> overrides;
  if (node["set"]) {
    overrides =
        value_of<std::vector<std::string>>(node, "set", "a list such as [run.steps=1000]", path);
  }
  try {
    row.spec = load_spec(node["spec"].as<std::string>(), overrides);
    check_feasible(row.spec);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", place, error.what()));
  }
  row.title = node["title"] ? node["title"].as<std::string>() : row.spec.name;
  row.bar =
      node["bar"] ? value_of<double>(node, "bar", "a number", path) : solved_threshold(row.spec);
  return row;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

template <class Get>
std::vector<double> collect(const std::vector<TrainResult>& results, Get&& get) {
  std::vector<double> values;
  for (const TrainResult& r : results) {
    if (const double value = get(r); !r.run_dir.empty() && !std::isnan(value))
      values.push_back(value);
  }
  return values;
}

std::string markdown_row(const SuiteRow& row, const std::vector<TrainResult>& results) {
  const auto returns = collect(results, [](const auto& r) { return r.eval_return_mean; });
  const std::string start = fmt::format("| {} | `{}` | {} | {:.4g} | ", row.title, row.spec.name,
                                        row.spec.run.steps, row.spec.q.updates_per_step);
  if (returns.empty()) return start + "- | - | - | - | - | - |\n";
  const auto best = collect(results, [](const auto& r) { return r.best_return_mean; });
  const auto solved =
      collect(results, [](const auto& r) { return r.solved ? r.solved_seconds : std::nan(""); });
  const auto wall = collect(results, [](const auto& r) { return r.wall_seconds; });
  const auto reached =
      std::count_if(returns.begin(), returns.end(), [&](double r) { return r >= row.bar; });
  const std::string first_solved = solved.empty()
                                       ? "never"
                                       : fmt::format("{:.2f} s ({} of {})", quantile(solved, 0.5),
                                                     solved.size(), returns.size());
  return start +
         fmt::format("{:.1f} | {:.1f} to {:.1f} | {:.1f} | {:g}: {} of {} | {} | {:.2f} s |\n",
                     quantile(returns, 0.5), quantile(returns, 0), quantile(returns, 1),
                     quantile(best, 0.5), row.bar, reached, results.size(), first_solved,
                     quantile(wall, 0.5));
}

}  // namespace

Suite load_suite(const std::string& name_or_path) {
  const std::string ready_made = fmt::format("{}/{}.yaml", suite_folder(), name_or_path);
  const std::string path = fs::exists(ready_made) ? ready_made : name_or_path;
  if (!fs::exists(path)) {
    std::vector<std::string> names;
    for (const SpecInfo& info : ready_made_suites()) names.push_back(info.name);
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw UsageError(fmt::format("{}: no such suite or file; {}", name_or_path,
                                 suggestion(name_or_path, views)));
  }
  if (fs::is_directory(path)) throw UsageError(fmt::format("{}: is a folder", path));
  try {
    constexpr std::array<std::string_view, 3> kKeys = {"about", "seeds", "rows"};
    const YAML::Node root = YAML::Load(std::string(read_file(path).text()));
    check_keys(root, kKeys, path);
    Suite suite;
    suite.name = fs::path(path).stem().string();
    suite.about = root["about"].as<std::string>("");
    if (root["seeds"]) suite.seeds = value_of<int>(root, "seeds", "a whole number", path);
    if (suite.seeds < 1) throw UsageError(fmt::format("{}: seeds: must be at least 1", path));
    if (!root["rows"].IsDefined() || !root["rows"].IsSequence() || root["rows"].size() == 0) {
      throw UsageError(fmt::format("{}: rows: missing, empty or not a list", path));
    }
    for (const YAML::Node& row : root["rows"]) suite.rows.push_back(read_row(row, path));
    return suite;
  } catch (const YAML::Exception& error) {
    throw UsageError(fmt::format("{}:{}: {}", path, error.mark.line + 1, error.msg));
  }
}

std::vector<SpecInfo> ready_made_suites() { return ready_made_specs(suite_folder()); }

SuiteResults run_suite(const Suite& suite, const SuiteOptions& options) {
  SuiteResults results(suite.rows.size(), std::vector<TrainResult>(suite.seeds));
  const std::size_t total = suite.rows.size() * suite.seeds;
  std::atomic<std::size_t> next = 0;
  std::mutex reporting;
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  const auto work = [&] {
    for (std::size_t i = next++; i < total && !stopped(); i = next++) {
      const SuiteRow& row = suite.rows[i / suite.seeds];
      TrainSpec spec = row.spec;
      spec.run.seed = 1 + i % suite.seeds;
      try {
        const std::string folder = make_run_folder(options.out + "/" + suite.name, spec.name);
        SessionHooks hooks;
        hooks.stop = options.stop;
        const TrainResult result = start_run(spec, folder, hooks);
        const std::lock_guard lock(reporting);
        if (result.interrupted) continue;
        results[i / suite.seeds][i % suite.seeds] = result;
        if (options.on_result) options.on_result(row, result);
      } catch (const std::exception& error) {
        const std::lock_guard lock(reporting);
        if (options.on_failure) options.on_failure(row, spec.run.seed, error.what());
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < options.jobs; ++i) workers.emplace_back(work);
  }
  return results;
}

std::string suite_markdown(const Suite& suite, const SuiteResults& results, int jobs) {
  std::string text =
      "| run | spec | env steps | updates per step | greedy return, median | lowest to highest | "
      "best "
      "evaluation, median | bar: seeds at it | solved after, median | wall time, median |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < suite.rows.size(); ++i)
    text += markdown_row(suite.rows[i], results[i]);
  text += fmt::format(
      "\n{} seeds (1 to {}); greedy returns are means over each spec's evaluation episodes, of the "
      "final parameters unless the spec stops when solved; {} run{} at a time on {}; hotloop {}.\n",
      suite.seeds, suite.seeds, jobs, jobs == 1 ? "" : "s", cpu_name(), HOTLOOP_VERSION);
  return text;
}

}  // namespace hotloop
