// Each command of `hotloop` is a file that registers itself: its name, one line about it, and its
// options, whose callback sets the exit code.
//
//   const Command kAddPlot({"plot", "draw how a run went", [](CLI::App& app, int& code) { ... }});
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "env/file/trust.hpp"

namespace hotloop {

struct CommandEntry {
  std::string name;
  std::string about;
  std::function<void(CLI::App& app, int& code)> add;
};

std::vector<CommandEntry>& command_list();  // in no particular order

struct Command {
  explicit Command(CommandEntry entry) { command_list().push_back(std::move(entry)); }
};

// For commands that may play an environment whose file is not named in the command itself.
inline void add_trust(CLI::App& app) {
  app.add_flag_callback(
      "--trust", [] { static const TrustAll all; },
      "run an environment's code from a run folder or spec without asking (docs/trust.md)");
}

inline constexpr const char* kIsolateHelp =
    "run an environment from a file in its own process, so that it can neither crash, hang nor "
    "damage this one (env.isolate)";

// Environments from files run in their own process; adds to the overrides of the spec.
inline void add_isolate(CLI::App& app, std::vector<std::string>& overrides) {
  app.add_flag_callback(
      "--isolate", [&overrides] { overrides.emplace_back("env.isolate=true"); }, kIsolateHelp);
}

// The model and its environment options, in `compare`, `eval` and `watch`.
template <class Arguments>
void add_model(CLI::App& app, Arguments& to) {
  app.add_option("--model", to.model, "best or latest")
      ->check(CLI::IsMember({"best", "latest"}))
      ->capture_default_str();
  app.add_option("--set", to.overrides,
                 "change an option of the environment, e.g. env.grid=15, short for "
                 "env.options.grid=15")
      ->allow_extra_args(false);
  add_trust(app);
  add_isolate(app, to.overrides);
}

// The model or policy that plays, in `eval` and `watch`.
template <class Arguments>
void add_player(CLI::App& app, Arguments& to) {
  app.add_option("RUN", to.run, "a run folder or a model file; with --policy also a spec")
      ->required();
  app.add_option("--policy", to.policy,
                 "instead of the model: random, or one of the environment's scripts");
  add_model(app, to);
}

// The algorithm for an environment without a spec, in `train`, `profile` and `doctor`.
inline void add_algorithm(CLI::App& app, std::string& to) {
  app.add_option("--algo", to,
                 "for an environment: the algorithm (see: hotloop list algorithms), with its "
                 "general settings; default: one that suits the actions");
}

// CLI11 would read -1 as the largest number, and truncate larger ones.
inline const CLI::Validator kSeed(
    [](const std::string& text) -> std::string {
      std::uint64_t seed = 0;
      const char* end = text.data() + text.size();
      const auto [parsed, error] = std::from_chars(text.data(), end, seed);
      if (error == std::errc() && parsed == end) return "";
      return fmt::format("{}: expected an integer, 0 to {}", text,
                         std::numeric_limits<std::uint64_t>::max());
    },
    "");

}  // namespace hotloop
