// hotloop compare: trained models and other policies on the same episode starts, for one or several
// values of an environment option.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "draw/chart.hpp"
#include "env/file/world_file.hpp"
#include "env/registry.hpp"
#include "record/saved_model.hpp"
#include "study/comparison.hpp"

namespace hotloop {
namespace {

struct CompareArguments {
  std::vector<std::string> runs;     // run folders or model files, or one spec
  std::vector<std::string> against;  // policies without a network
  std::string vary;                  // env.options.NAME=value,value,...
  std::vector<std::string> overrides;
  std::string model = "best";
  std::string measure;  // empty = all in the table, the score in the figure
  int episodes = 30;
  // Of the episode starts. Not the run's own seed: its best model was chosen on those starts.
  std::uint64_t seed = 1'000;
  std::string csv, markdown, figure;  // files to write
  bool json = false;
};

constexpr std::string_view kOptions = "env.options.";

bool is_saved(const std::string& run) {
  return std::filesystem::is_directory(run) || run.ends_with(".safetensors");
}

// The option and values of --vary; one empty value if nothing varies.
struct Variation {
  std::string option;
  std::vector<std::string> values = {""};
};

void check_option(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text.starts_with(kOptions) && equals != std::string::npos && equals > kOptions.size()) return;
  throw UsageError(fmt::format(
      "{} {}: allowed: options of the environment, env.options.NAME={} (see: hotloop list options)",
      flag, text, flag == "--vary" ? "value,value,..." : "value"));
}

// The environment that all contestants play.
std::string env_of(const CompareArguments& arguments) {
  const std::string& run = arguments.runs[0];
  return is_saved(run) ? load_saved_model(run, arguments.model, {}).model.spec.env
                       : load_spec(run).env;
}

Variation read_variation(const std::string& given, const std::string& env) {
  if (given.empty()) return {};
  const std::string text = full_override(given, env);
  check_option("--vary", text);
  const std::size_t equals = text.find('=');
  Variation result{text.substr(kOptions.size(), equals - kOptions.size()), {}};
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string value = text.substr(at, comma - at);
    if (value.empty()) throw UsageError(fmt::format("--vary {}: a value is empty", text));
    if (std::find(result.values.begin(), result.values.end(), value) != result.values.end()) {
      throw UsageError(fmt::format("--vary {}: {} is given twice", text, value));
    }
    result.values.push_back(value);
    at = comma + 1;
  }
  return result;
}

// A contestant whose arguments are checked: all user errors are found before the first episode.
struct Contender {
  Contestant who;
  TrainSpec spec;
  std::optional<SavedModel> saved;  // none: `script` plays
  int script = 0;
};

void check_runs(const CompareArguments& arguments) {
  const std::vector<std::string>& runs = arguments.runs;
  for (const std::string& run : runs) {
    const auto is_same = [&](const std::string& other) {
      std::error_code absent;  // missing files are reported elsewhere
      return run == other || std::filesystem::equivalent(run, other, absent);
    };
    if (std::count_if(runs.begin(), runs.end(), is_same) > 1) {
      throw UsageError(fmt::format("'{}': is given twice", run));
    }
    if (is_saved(run)) continue;
    if (run != runs[0] && !arguments.against.empty() && !std::filesystem::exists(run)) {
      throw UsageError(fmt::format(
          "'{}': no such run folder or model file; several policies need commas: --against {},{}",
          run, arguments.against.back(), run));
    }
    const TrainSpec spec = load_spec(run);  // or throws: neither a run nor a spec
    if (runs.size() > 1) {
      throw UsageError(fmt::format(
          "'{}' is a spec, not a run folder or model file: give a spec alone, with --against",
          run));
    }
    if (arguments.against.empty()) {
      throw UsageError(fmt::format(
          "'{}' is a spec: give run folders or model files, or --against with policies of {}", run,
          spec.env));
    }
  }
  for (const std::string& policy : arguments.against) {
    if (std::count(arguments.against.begin(), arguments.against.end(), policy) > 1) {
      throw UsageError(fmt::format("--against: {} is given twice", policy));
    }
  }
}

// Every run folder has its own copy of an environment's file, so contents are compared.
bool is_same_env(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return a.ends_with(".cpp") && b.ends_with(".cpp") && flat_source(a) == flat_source(b);
}

// Results on different environments are not comparable. Options that only change what is observed
// or allowed, or the speed, may differ.
void check_same_world(const TrainSpec& spec, const std::string& run, const TrainSpec& first,
                      const std::string& first_run) {
  if (!is_same_env(spec.env, first.env)) {
    throw UsageError(fmt::format("'{}' plays {}, '{}' plays {}: nothing to compare", run, spec.env,
                                 first_run, first.env));
  }
  const EnvEntry& entry = find_env(spec.world());
  const std::vector<double> mine = option_values(entry, spec.env_options);
  const std::vector<double> theirs = option_values(entry, first.env_options);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const bool same = mine[i] == theirs[i] || (std::isnan(mine[i]) && std::isnan(theirs[i]));
    if (same || entry.options[i].is_view || entry.options[i].is_speed) continue;
    throw UsageError(fmt::format(
        "'{}' and '{}' were trained with different env.options.{}: give it for all of them, --set "
        "env.options.{}=...",
        run, first_run, entry.options[i].name, entry.options[i].name));
  }
}

// Everything but the seed that determines the training. Runs with the same recipe may be pooled.
// Logging, saving and speed options are left out: they do not change results.
std::string recipe_of(TrainSpec spec) {
  const EnvEntry& entry = find_env(spec.world());
  const std::vector<double> values = option_values(entry, spec.env_options);
  std::string options;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!entry.options[i].is_speed) options += fmt::format("{} ", values[i]);
  }
  spec.env = "";  // the same for all, but the path of the copied file differs
  spec.env_options = {};
  spec.isolation = {};
  spec.about = "";
  spec.run = {.steps = spec.run.steps, .episodes = spec.run.episodes};
  if (!spec.evaluation.stop_when_solved) spec.evaluation = {};
  return options + to_yaml(spec);
}

// Values of --vary are read as overrides, so their error messages name --set; this makes it --vary.
std::string name_vary_in(std::string message, const std::string& override, bool is_only_one) {
  constexpr std::string_view kSet = "--set";
  const std::string given = fmt::format("{} {}", kSet, override);
  const bool is_about_it = message.starts_with(given + ":") || message.starts_with(given + " ");
  const bool is_about_all = is_only_one && message.starts_with("--set:");
  if (is_about_it || is_about_all) return message.replace(0, kSet.size(), "--vary");
  const bool is_about_option = message.starts_with(override.substr(0, override.find('=')) + ":");
  return is_about_option ? fmt::format("--vary {}: {}", override, message) : message;
}

std::vector<Contender> players_at(const std::string& value, const CompareArguments& arguments,
                                  const std::vector<std::string>& overrides) {
  std::vector<Contender> players;
  for (const std::string& run : arguments.runs) {
    if (!is_saved(run)) continue;
    SavedModel saved = load_saved_model(run, arguments.model, overrides);
    const TrainSpec spec = saved.model.spec;
    if (!players.empty()) check_same_world(spec, run, players[0].spec, arguments.runs[0]);
    const std::string algorithm(spec.algorithm->name());
    players.push_back({{value, spec.name, run, spec.run.seed, algorithm, recipe_of(spec)},
                       spec,
                       std::move(saved)});
  }
  const TrainSpec first =
      players.empty() ? load_policy_spec(arguments.runs[0], overrides) : players[0].spec;
  for (const std::string& policy : arguments.against) {
    players.push_back({{value, policy, "", {}}, first, {}, script_number(policy, first.world())});
  }
  return players;
}

int compare_command(const CompareArguments& arguments) {
  if (!arguments.figure.empty()) check_chart_path(arguments.figure);
  for (const std::string& path : {arguments.figure, arguments.csv, arguments.markdown}) {
    check_folder_of(path);
  }
  for (const std::string& run : arguments.runs) trust_named(run);
  check_runs(arguments);
  const std::string world = env_of(arguments);
  for (const std::string& override : arguments.overrides) {
    check_option("--set", full_override(override, world));
  }
  const Variation variation = read_variation(arguments.vary, world);
  std::vector<Contender> players;
  for (const std::string& value : variation.values) {
    std::vector<std::string> overrides = arguments.overrides;
    if (!value.empty())
      overrides.push_back(fmt::format("{}{}={}", kOptions, variation.option, value));
    try {
      for (Contender& player : players_at(value, arguments, overrides)) {
        players.push_back(std::move(player));
      }
    } catch (const UsageError& error) {
      if (value.empty()) throw;
      throw UsageError(name_vary_in(error.what(), overrides.back(), overrides.size() == 1));
    }
  }
  const TrainSpec& first = players[0].spec;
  const EnvSpec env = env_spec(first.world());
  const int measure = find_measure(arguments.measure, env);

  EvaluationOptions options = first.evaluation;
  options.episodes = arguments.episodes;
  for (const Contender& p : players) {
    options.max_steps = std::max(options.max_steps, p.spec.evaluation.max_steps);
  }
  ThreadTeam team(first.max_threads());
  std::vector<Played> played;
  for (const Contender& p : players) {
    played.push_back({p.who, p.saved ? evaluate_model(*p.saved, options, arguments.seed, team)
                                     : evaluate_script(p.script, p.spec.world(), options,
                                                       arguments.seed, team)});
  }
  const Comparison comparison = compare(env, variation.option, arguments.seed, played);
  const std::string table = comparison_markdown(
      comparison, arguments.measure.empty() ? std::nullopt : std::optional(measure));
  if (!arguments.markdown.empty()) write_file_atomically(arguments.markdown, table);
  if (!arguments.csv.empty()) write_file_atomically(arguments.csv, comparison_csv(comparison));
  if (!arguments.figure.empty()) {
    write_file_atomically(arguments.figure, comparison_figure(comparison, measure));
  }
  if (arguments.json) {
    print_result("{}\n", comparison_json(comparison).dump());
  } else {
    print_text("{}", table);
  }
  return 0;
}

const Command kAddCompare(
    {"compare", "models and other policies on the same episode starts; prints one table",
     [](CLI::App& app, int& code) {
       static CompareArguments compare;
       app.add_option("RUN", compare.runs,
                      "run folders or model files; or one spec, with --against")
           ->required();
       app.add_option("--against", compare.against,
                      "policies without a network: random, or the environment's scripts")
           ->delimiter(',')
           ->allow_extra_args(false);
       app.add_option("--vary", compare.vary,
                      "repeat for several values of an option, e.g. env.grid=8,10,15");
       add_model(app, compare);
       app.add_option("--episodes", compare.episodes, "episodes per policy and value")
           ->check(CLI::Range(1, 100'000))
           ->capture_default_str();
       app.add_option("--seed", compare.seed, "seed of the episode starts")
           ->check(kSeed)
           ->capture_default_str();
       app.add_option("--measure", compare.measure,
                      "the measure to show; default: all in the table, the score or the return in "
                      "the figure");
       app.add_option("--csv", compare.csv, "write every measure to this file, one per line");
       app.add_option("--markdown", compare.markdown, "write the table to this file");
       app.add_option("--figure", compare.figure, "draw a chart into this .svg");
       app.add_flag("--json", compare.json, "print one JSON object instead of the table");
       app.callback([&code] { code = compare_command(compare); });
     }});

}  // namespace
}  // namespace hotloop
