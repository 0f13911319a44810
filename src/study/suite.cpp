#include "study/suite.hpp"
#include "train/feasible.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/system.hpp"
#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "session/demonstrations.hpp"
#include "session/earlier_run.hpp"
#include "session/session.hpp"
#include "spec/yaml_text.hpp"
#include "study/jobs.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::string suite_folder() { return default_spec_folder() + "/suites"; }

template <std::size_t N>
void check_keys(const YAML::Node& map, const std::array<std::string_view, N>& allowed,
                const std::string& path) {
  if (!map.IsMap()) throw UsageError(fmt::format("{}: expected a mapping", path));
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? printable(entry.first.Scalar()) : "a list";
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

// Looks for the file of a spec or an environment in the suite's folder, then in the current folder.
std::string resolve_path(const std::string& suite, const std::string& spec) {
  if (!is_world_file(spec) && !spec.ends_with(".yaml")) return spec;
  return find_world_file(spec, fs::path(suite).parent_path().string());
}

// Keys that are missing in the row are taken from the suite. The overrides of both apply.
SuiteRow read_row(const YAML::Node& node, const YAML::Node& suite, const std::string& path,
                  bool isolate) {
  constexpr std::array<std::string_view, 5> kKeys = {"title", "spec", "algo", "set", "bar"};
  check_keys(node, kKeys, path);
  const std::string place = fmt::format("{}:{}", path, node.Mark().line + 1);
  const YAML::Node spec = node["spec"] ? node["spec"] : suite["spec"];
  if (!spec) throw UsageError(fmt::format("{}: a row needs a spec", place));
  const YAML::Node algo = node["algo"] ? node["algo"] : suite["algo"];
  SuiteRow row;
  std::vector<std::string> overrides;
  for (const YAML::Node& from : {suite, node}) {
    if (!from["set"]) continue;
    for (std::string& text :
         value_of<std::vector<std::string>>(from, "set", "a list such as [run.steps=1000]", path)) {
      overrides.push_back(std::move(text));
    }
  }
  try {
    const auto text_of = [&](const char* key) {
      return value_of<std::string>(node[key] ? node : suite, key, "a name", path);
    };
    const std::string name = resolve_path(path, text_of("spec"));
    if (isolate && is_world_file(name)) overrides.emplace_back("env.isolate=true");
    row.spec = load_spec_or_world(name, algo ? text_of("algo") : "", overrides);
    if (isolate && is_world_file(row.spec.env)) row.spec.isolation.on = true;
    check_feasible(row.spec);
    read_demonstrations(row.spec);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", place, error.what()));
  }
  row.title = node["title"] ? value_of<std::string>(node, "title", "text", path) : row.spec.name;
  const YAML::Node& with_bar = node["bar"] ? node : suite;
  row.bar = with_bar["bar"] ? value_of<double>(with_bar, "bar", "a number", path)
                            : solved_threshold(row.spec);
  return row;
}

bool has_score(const TrainSpec& spec) {
  const EnvSpec env = env_spec(spec.world());
  return std::find(env.measures.begin(), env.measures.end(), "score") != env.measures.end();
}

// What the learning curves show.
std::string read_figure_y(const YAML::Node& root, const Suite& suite, const std::string& path) {
  const auto lacks_score = std::find_if(suite.rows.begin(), suite.rows.end(),
                                        [](const auto& row) { return !has_score(row.spec); });
  if (!root["figure"]) return lacks_score == suite.rows.end() ? "score" : "return";
  constexpr std::array<std::string_view, 1> kKeys = {"y"};
  constexpr std::array<std::string_view, 2> kAllowed = {"score", "return"};
  const YAML::Node figure = root["figure"];
  check_keys(figure, kKeys, path);
  const auto y = figure["y"] ? value_of<std::string>(figure, "y", "a word", path) : "";
  const std::string place = fmt::format("{}:{}: figure.y", path, figure.Mark().line + 1);
  if (std::find(kAllowed.begin(), kAllowed.end(), y) == kAllowed.end()) {
    throw UsageError(fmt::format("{}: found \"{}\"; {}", place, y, suggestion(y, kAllowed)));
  }
  if (y == "score" && lacks_score != suite.rows.end()) {
    throw UsageError(fmt::format("{}: {} has no score (row \"{}\"); allowed: return", place,
                                 lacks_score->spec.env, lacks_score->title));
  }
  return y;
}

std::vector<std::optional<EarlierRun>> find_earlier_runs(const std::string& parent,
                                                         const std::vector<TrainSpec>& specs) {
  std::vector<std::optional<EarlierRun>> runs;
  std::set<std::string> taken;  // equal rows must not share a run
  for (const TrainSpec& spec : specs) {
    const auto& run = runs.emplace_back(find_earlier_run(parent, spec, taken));
    if (run) taken.insert(run->folder);
  }
  return runs;
}

}  // namespace

Suite load_suite(const std::string& name_or_path, bool isolate) {
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
    constexpr std::array<std::string_view, 8> kKeys = {"about", "seeds", "figure", "spec",
                                                       "algo",  "set",   "bar",    "rows"};
    const YAML::Node root =
        parse_yaml(read_file(path, kMaxSpecBytes, FileKind::any).text(), path, true);
    check_keys(root, kKeys, path);
    Suite suite;
    suite.name = fs::path(path).stem().string();
    suite.about = root["about"].as<std::string>("");
    if (root["seeds"]) suite.seeds = value_of<int>(root, "seeds", "an integer", path);
    if (suite.seeds < 1) throw UsageError(fmt::format("{}: seeds: must be at least 1", path));
    if (!root["rows"].IsDefined() || !root["rows"].IsSequence() || root["rows"].size() == 0) {
      throw UsageError(fmt::format("{}: rows: missing, empty or not a list", path));
    }
    for (const YAML::Node& row : root["rows"]) {
      suite.rows.push_back(read_row(row, root, path, isolate));
    }
    if (isolate && std::none_of(suite.rows.begin(), suite.rows.end(),
                                [](const SuiteRow& row) { return row.spec.isolation.on; })) {
      throw UsageError(fmt::format("--isolate: no row of {} has an environment from a file", path));
    }
    suite.figure_y = read_figure_y(root, suite, path);
    return suite;
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}:{}: not valid YAML: {}", path, error.mark.line + 1, printable(error.msg)));
  }
}

std::vector<SpecInfo> ready_made_suites() { return ready_made_specs(suite_folder()); }

std::string SuiteRow::run_name() const {
  std::string name;
  for (const char c : title) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name.empty() ? spec.name : name;
}

SuiteResults run_suite(const Suite& suite, const SuiteOptions& options) {
  const std::string parent = options.out + "/" + suite.name;
  SuiteResults results(suite.rows.size(), std::vector<TrainResult>(suite.seeds));
  std::vector<TrainSpec> specs;
  for (const SuiteRow& row : suite.rows) {
    for (int seed = 1; seed <= suite.seeds; ++seed) {
      specs.push_back(row.spec);
      specs.back().run.seed = static_cast<std::uint64_t>(seed);
      specs.back().name = row.run_name();
    }
  }
  const std::vector<std::optional<EarlierRun>> earlier = find_earlier_runs(parent, specs);
  int finished = 0, unfinished = 0;
  for (const auto& run : earlier) {
    if (run) ++(run->result ? finished : unfinished);
  }
  if (options.on_earlier && finished + unfinished > 0) options.on_earlier(finished, unfinished);
  const auto work = [&](std::size_t i, JobTurn& turn) {
    const SuiteRow& row = suite.rows[i / suite.seeds];
    const TrainSpec& spec = specs[i];
    try {
      const std::string folder =
          earlier[i] ? earlier[i]->folder : make_run_folder(parent, spec.name);
      SessionHooks hooks;
      hooks.stop = options.stop;
      turn.unlock();
      const TrainResult result = !earlier[i]          ? start_run(spec, folder, hooks)
                                 : earlier[i]->result ? *earlier[i]->result
                                                      : resume_run(spec, folder, {}, hooks);
      turn.lock();
      if (result.interrupted) return;
      results[i / suite.seeds][i % suite.seeds] = result;
      if (options.on_result) options.on_result(row, result);
    } catch (const std::exception& error) {
      if (!turn.owns_lock()) turn.lock();
      if (options.on_failure) options.on_failure(row, spec.run.seed, message_of(error));
    }
  };
  run_jobs(suite.rows.size() * suite.seeds, options.jobs, options.stop, work);
  return results;
}

}  // namespace hotloop
