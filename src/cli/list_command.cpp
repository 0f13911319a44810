// hotloop list: prints the names of environments, specs, algorithms and so on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "env/options.hpp"
#include "env/registry.hpp"
#include "spec/spec.hpp"
#include "study/suite.hpp"

namespace hotloop {
namespace {

using Listing = std::vector<std::pair<std::string, std::string>>;  // name, about

// " as dc[14] | global[6, 10]", if the parts have names.
std::string parts_text(const EnvSpec& env) {
  std::string text;
  for (const ObsPart& part : env.parts) {
    if (part.name.empty()) break;
    const auto used = std::find(part.shape.begin(), part.shape.end(), 0);
    text += fmt::format("{}{}[{}]", text.empty() ? " as " : " | ", part.name,
                        fmt::join(part.shape.begin(), used, ", "));
  }
  return text;
}

// ", reward parts graph, spawn", if the environment splits its reward.
std::string reward_text(const EnvSpec& env) {
  if (env.reward_part_count() == 0) return "";
  const auto first = env.reward_parts.begin();
  return fmt::format(", reward parts {}", fmt::join(first, first + env.reward_part_count(), ", "));
}

Listing list_envs() {
  Listing rows;
  for (const EnvEntry& entry : registered_envs()) {
    const EnvSpec& s = *entry.spec;
    const std::string actions = s.action_size > 0
                                    ? fmt::format("continuous actions [{}]", s.action_size)
                                    : fmt::format("{} discrete actions", s.actions);
    rows.emplace_back(
        s.name, fmt::format("{} observations{}, {}{}, at most {} steps{}. {}", s.obs, parts_text(s),
                            actions, reward_text(s), s.max_steps,
                            entry.options.empty() ? "" : " (see: hotloop list options)", s.about));
  }
  return rows;
}

Listing list_options() {
  Listing rows;
  for (const EnvEntry& entry : registered_envs()) {
    for (const EnvOption& option : entry.options) {
      rows.emplace_back(
          fmt::format("{}.{}", entry.spec->name, option.name),
          fmt::format("{} ({}; {})", option.about, allowed_values(option), initial_text(option)));
    }
  }
  return rows;
}

Listing list_infos(const std::vector<SpecInfo>& infos) {
  Listing rows;
  for (const SpecInfo& info : infos) rows.emplace_back(info.name, info.about);
  return rows;
}

template <std::size_t N>
Listing list_names(const std::array<std::string_view, N>& names) {
  Listing rows;
  for (std::string_view name : names) rows.emplace_back(name, "");
  return rows;
}

int list_command(const std::string& what, bool json) {
  constexpr std::array<std::string_view, 9> kLists = {"envs",         "options",    "specs",
                                                      "suites",       "algorithms", "activations",
                                                      "initialisers", "optimisers", "schedules"};
  Listing rows;
  if (what == "envs")
    rows = list_envs();
  else if (what == "options")
    rows = list_options();
  else if (what == "specs")
    rows = list_infos(ready_made_specs());
  else if (what == "suites")
    rows = list_infos(ready_made_suites());
  else if (what == "algorithms")
    for (const Algorithm* algorithm : algorithms())
      rows.emplace_back(algorithm->name(), algorithm->about());
  else if (what == "activations")
    rows = list_names(kActivationNames);
  else if (what == "initialisers")
    rows = list_names(kInitialiserNames);
  else if (what == "optimisers")
    rows = list_names(kOptimiserNames);
  else if (what == "schedules")
    rows = list_names(kScheduleNames);
  else
    throw UsageError(fmt::format("list {}: unknown list; {}", what, suggestion(what, kLists)));

  if (json) {
    Json array = Json::array();
    for (const auto& [name, about] : rows) array.push_back({{"name", name}, {"about", about}});
    print_result("{}\n", array.dump());
    return 0;
  }
  for (const auto& [name, about] : rows) print_result("{:24} {}\n", name, about);
  return 0;
}

const Command kAddList(
    {"list",
     "list envs, options, specs, suites, algorithms, activations, initialisers, optimisers or "
     "schedules",
     [](CLI::App& app, int& code) {
       static std::string list_what;
       static bool list_json = false;
       app.add_option("WHAT", list_what, "what to list")->required();
       app.add_flag("--json", list_json, "print a JSON array");
       app.callback([&code] { code = list_command(list_what, list_json); });
     }});

}  // namespace
}  // namespace hotloop
