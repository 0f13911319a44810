// hotloop profile: where the time of a training run goes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "core/stop_signal.hpp"
#include "profile/report.hpp"
#include "profile/what_if.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

struct ProfileArguments {
  std::string spec;
  std::string algorithm;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  double seconds = 5;
  std::string trace, html;  // files to write
  std::string what_if;      // "threads=8"
  bool json = false;
  bool quiet = false;
};

constexpr std::size_t kTraceVisits = 100'000;  // about 8 MB of JSON

void check_files(const ProfileArguments& arguments) {
  if (!arguments.html.empty() && !arguments.html.ends_with(".html")) {
    throw UsageError(fmt::format("--html '{}': must end in .html", arguments.html));
  }
  check_folder_of(arguments.html);
  check_folder_of(arguments.trace);
}

// The number of threads in --what-if; 0 = not asked.
int threads_of(const std::string& what_if) {
  if (what_if.empty()) return 0;
  constexpr std::string_view kName = "threads=";
  int threads = 0;
  const char* end = what_if.data() + what_if.size();
  if (what_if.starts_with(kName)) {
    const auto [rest, error] = std::from_chars(what_if.data() + kName.size(), end, threads);
    if (error == std::errc() && rest == end && threads >= 1 && threads <= kMaxThreads)
      return threads;
  }
  throw UsageError(fmt::format("--what-if '{}': expected threads=N; allowed: 1 <= N <= {}", what_if,
                               kMaxThreads));
}

// A progress line that overwrites itself and is erased at the end.
class Countdown {
 public:
  Countdown(bool visible, double seconds) : visible_(visible), seconds_(seconds) { show(0); }
  ~Countdown() {
    if (visible_) print_status("");
  }
  void show(double share) const {
    if (!visible_) return;
    constexpr int kWidth = 24;
    const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
    std::string bar;
    for (int i = 0; i < kWidth; ++i) bar += i < full ? "█" : "░";
    print_status(
        fmt::format("{} profiling, {:.0f} s left", bar, std::max(0.0, seconds_ * (1 - share))));
  }

 private:
  bool visible_;
  double seconds_;
};

void write_file(const ProfileArguments& arguments, const std::string& path,
                const std::string& text) {
  write_file_atomically(path, text);
  if (!arguments.quiet) print_note("wrote {}\n", path);
}

int profile_command(const ProfileArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.seed) overrides.push_back(fmt::format("run.seed={}", *arguments.seed));
  trust_named(arguments.spec);
  for (const std::string& text : overrides) trust_named(text);
  const int what_if_threads = threads_of(arguments.what_if);
  if (what_if_threads > 0) overrides.emplace_back("run.threads=1");  // its simulation begins there
  const TrainSpec spec = load_spec_or_world(arguments.spec, arguments.algorithm, overrides);
  check_feasible(spec);
  check_files(arguments);
  Profile profile;
  {
    const Countdown countdown(!arguments.quiet && isatty(STDERR_FILENO) != 0, arguments.seconds);
    profile = take_profile(spec, {.seconds = arguments.seconds,
                                  .trace = arguments.trace.empty() ? 0 : kTraceVisits,
                                  .stop = &stop_requested(),
                                  .progress = [&](double share) { countdown.show(share); }});
  }
  if (!arguments.trace.empty()) write_file(arguments, arguments.trace, chrome_trace(profile));
  if (!arguments.html.empty()) write_file(arguments, arguments.html, profile_html(profile));
  std::optional<WhatIf> predicted;
  if (what_if_threads > 0) predicted = what_if(profile, what_if_threads);
  if (arguments.json) {
    Json json = profile_json(profile);
    if (predicted) json["what_if"] = what_if_json(*predicted);
    print_result("{}\n", json.dump());
  } else {
    print_text("{}", profile_text(profile));
    if (predicted) print_text("{}", what_if_text(*predicted));
  }
  return 0;
}

const Command kAddProfile(
    {"profile", "run a spec for a few seconds and show where the time goes",
     [](CLI::App& app, int& code) {
       static ProfileArguments profile;
       app.add_option("SPEC", profile.spec, "a spec, or the .cpp file of an environment")
           ->required();
       add_algorithm(app, profile.algorithm);
       app.add_option("--set", profile.overrides, "override a key of the spec, e.g. algo.batch=64")
           ->allow_extra_args(false);
       add_isolate(app, profile.overrides);
       app.add_option("--seed", profile.seed, "random seed (run.seed)")->check(kSeed);
       app.add_option("--seconds", profile.seconds, "how long to measure")
           ->check(CLI::Range(0.01, 1e6))
           ->capture_default_str();
       app.add_option("--trace", profile.trace,
                      "write single phases to this file, for chrome://tracing or Perfetto");
       app.add_option("--html", profile.html, "write a page with charts to this .html");
       app.add_option("--what-if", profile.what_if,
                      "threads=N: simulate N threads, also on a machine with fewer cores");
       add_trust(app);
       app.add_flag("--json", profile.json, "print one JSON object instead of the table");
       app.add_flag("--quiet", profile.quiet, "no progress bar");
       app.callback([&code] { code = profile_command(profile); });
     }});

}  // namespace
}  // namespace hotloop
