#include "env/file/world_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>

#include <hotloop/error.hpp>

#include "core/json.hpp"
#include "core/stopwatch.hpp"
#include "env/check/battery.hpp"
#include "env/check/battery_play.hpp"
#include "env/check/trial.hpp"
#include "env/file/cache.hpp"
#include "env/file/sanitised.hpp"
#include "env/file/static_data.hpp"
#include "env/file/world_file.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

// Seconds per step of one world.
double step_seconds(const EnvEntry& entry, std::uint64_t seed) {
  constexpr int kCopies = 3, kSteps = 3;
  BatchRunner runner(entry.make_one_by_one(kCopies), kCopies, seed, 1);
  Actions actions(runner.env.spec(), kCopies);
  double minimum = 1e9;  // interruptions only add time
  for (std::uint64_t t = 0; t < kSteps; ++t) {
    choose_actions(runner.env.spec(), runner.results().mask, seed, t, actions);
    const Stopwatch watch;
    runner.step(actions);
    minimum = std::min(minimum, watch.seconds() / kCopies);
  }
  return minimum;
}

// A slow environment is checked with fewer copies and steps.
CheckOptions affordable(const CheckOptions& wanted, double seconds) {
  constexpr double kPlays = 20;     // plays in the whole check
  constexpr double kMinSteps = 20;  // steps of each play
  CheckOptions options = wanted;
  for (const int copies : {67, 9, 3}) {
    options.copies = std::min(copies, wanted.copies);
    if (kPlays * options.copies * wanted.steps * seconds <= wanted.budget) return options;
  }
  const double steps = wanted.budget / (kPlays * options.copies * seconds);
  options.steps = std::min(wanted.steps, static_cast<int>(std::max(kMinSteps, steps)));
  const std::string note = fmt::format(
      "a step takes {:.2g} ms: checked with {} copies and {} steps, in about {:.0f} s\n",
      1e3 * seconds, options.copies, options.steps,
      kPlays * options.copies * options.steps * seconds);
  std::fputs(note.c_str(), stderr);  // does not throw if standard error is closed
  return options;
}

// Warns about static variables that changed. They may also explain why all rewards are equal.
void judge_static_data(const std::vector<std::string>& changed, CheckReport& report) {
  if (changed.empty()) return;
  constexpr std::size_t kMax = 8;
  const bool is_one = changed.size() == 1;
  const auto end = changed.begin() + std::min(std::ssize(changed), std::ptrdiff_t{kMax});
  for (WorldFinding& other : report.warnings) {
    if (other.what.starts_with("every reward")) {
      other.hint = "perhaps because of the shared variable, see above";
    }
  }
  report.warnings.insert(
      report.warnings.begin(),
      {fmt::format("{} static or global variable{} changed while the environment was played: {}{}",
                   is_one ? "a" : "some", is_one ? "" : "s", fmt::join(changed.begin(), end, ", "),
                   changed.size() > kMax ? " ..." : ""),
       "all copies of the environment and all threads share it, and it is neither reset nor saved: "
       "make it a member of the struct, set in reset"});
}

// Runs in the child: everything that calls the world, which is from `library` if that is set.
std::string examine(const std::function<EnvEntry()>& load, const std::string& library,
                    const CheckOptions& wanted) {
  const EnvEntry entry = noted_entry(load());
  std::optional<StaticData> shared;
  if (!library.empty()) shared.emplace(library);
  const EnvSpec spec = entry.make(1)->spec();
  CheckReport report;
  // This comes first: the other checks give the world memory without guard rows.
  BatteryOptions battery{.rows = 3, .steps = std::min(wanted.steps, 12), .seed = wanted.seed};
  const auto failure = [&]() -> std::optional<std::string> {
    try {
      return check_random_play(entry, battery);
    } catch (const WorldError& error) {  // it wrote beyond its row
      return error.what();
    }
  }();
  if (failure) {
    report.failures.push_back({"random play: " + *failure, ""});
  } else {
    const CheckOptions options = affordable(wanted, step_seconds(entry, wanted.seed));
    if (shared) shared->all_are_initialised();
    battery.rows = options.copies;
    battery.steps = options.steps;
    const std::string name = std::string(spec.name) + ": ";
    for (std::string& sentence : check_env(entry, battery)) {
      if (sentence.starts_with(name)) sentence.erase(0, name.size());
      report.failures.push_back({std::move(sentence), ""});
    }
    if (report.failures.empty()) look_at_play(entry, options, report);
  }
  if (shared) judge_static_data(shared->changed(), report);
  Json json = {{"name", std::string(spec.name)},
               {"facts", report.facts},
               {"speed", report.steps_per_second},
               {"failures", Json::array()},
               {"warnings", Json::array()}};
  for (const WorldFinding& f : report.failures) {
    json["failures"].push_back({f.what, hint_for(f.what, spec)});
  }
  for (const WorldFinding& f : report.warnings) json["warnings"].push_back({f.what, f.hint});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<WorldFinding> read_findings(const Json& list) {
  std::vector<WorldFinding> findings;
  for (const Json& entry : list) findings.push_back({entry[0], entry[1]});
  return findings;
}

// For an environment that threw, crashed or hung.
std::string hint_for_end(const TrialResult& result) {
  const std::string& what = result.failure;
  const auto has = [&](std::string_view words) { return what.find(words) != std::string::npos; };
  if (has("did not return")) {
    return "is there a loop whose condition never becomes false? A slow environment can be "
           "given more time with --timeout";
  }
  if (has("SIGFPE")) return "look for / and % of integers whose right side can be 0";
  if (has("crashed")) {
    return "look for an index beyond the end of an array, or an action used as an index into an "
           "array with fewer elements than there are actions";
  }
  if (has("exit code"))
    return "an environment must not end the program: throw an exception instead";
  if (has(" failed"))
    return "the message of its exception is above; an environment must not throw when its actions "
           "are legal";
  return "";
}

// Adds the findings of the sanitizers. They come first, because other failures may be consequences.
void add_sanitised(const TrustedCode& source, CheckReport& report) {
  const SanitisedPlay play = play_sanitised(source);
  if (!play.skip_reason.empty()) {
    report.facts.push_back("not checked for out-of-bounds accesses: " + play.skip_reason);
  }
  for (WorldFinding& other : report.failures) {
    if (!play.failures.empty() && !other.what.starts_with("random play")) {
      other.hint = "perhaps a consequence of the above";
    }
  }
  report.failures.insert(report.failures.begin(), play.failures.begin(), play.failures.end());
  report.warnings.insert(report.warnings.begin(), play.warnings.begin(), play.warnings.end());
}

}  // namespace

std::string hint_for(const std::string& failure, const EnvSpec& spec) {
  const auto has = [&](std::string_view words) { return failure.find(words) != std::string::npos; };
  if (has("observation: expected exactly")) {
    return fmt::format(
        "spec.obs is {0}, so observe may write obs[0] to obs[{1}] and nothing else; set "
        ".obs to the number of values that it writes",
        spec.obs, spec.obs - 1);
  }
  if (has("mask: expected exactly")) {
    return fmt::format("mask may write allowed[0] to allowed[{}], one for each of spec.actions",
                       spec.actions - 1);
  }
  if (has("found it untouched")) {
    return has("mask:") ? "mask must write a 0 or 1 for every action, every time"
                        : fmt::format(
                              "observe must write all {} values every time: the memory is "
                              "not cleared before; or set .obs to the number it writes",
                              spec.obs);
  }
  if (has("when asked again")) {
    return "observe and mask must only read: the same state must give the same values. Is there an "
           "uninitialised or static variable?";
  }
  if (has("reward: expected a finite")) {
    return "look for a division by zero, the root or logarithm of a negative number, or a member "
           "without an initial value in the computation of the reward";
  }
  if (has("expected a finite value")) {
    return "look for a division by zero, the root or logarithm of a negative number, or a member "
           "without an initial value in what observe writes";
  }
  if (has("at least one allowed action")) {
    return "if no action is possible, the previous step should have ended the episode";
  }
  if (has("mask: expected 0 or 1")) return "write 1 for allowed and 0 for forbidden";
  if (has("named parts to add up")) {
    return "the sizes of the parts in spec.parts must add up to spec.obs";
  }
  if (has("same seed:")) {
    return "two plays with the same seed differ: take every random number from the Rng that is "
           "passed in, and keep all state in members with initial values; no rand(), no clock, no "
           "static or global variable";
  }
  if (has("other seed:")) {
    return "reset draws random numbers, but no observation depends on them";
  }
  if (failure.starts_with("reset:")) {
    return "an episode in a used environment differs from the same episode in a fresh one: a "
           "member is probably not set in reset. `*this = {};` as its first line sets all members "
           "to their initial values";
  }
  if (has("save and restore:")) {
    return "the state is saved as the bytes of the struct: nothing may be stored outside it "
           "(static or global variables, memory behind pointers)";
  }
  if (has("batch against one by one")) {
    return "rows must be independent of each other: no static or global variables; if the struct "
           "has a Batch, its step must give the same bits as the plain step";
  }
  if (has("time limit of"))
    return "the engine applies the time limit; an environment must not count steps for it";
  return "";
}

CheckReport check_world(const std::string& name, const CheckOptions& options) {
  CheckReport report{.name = name, .failures = {}, .warnings = {}, .facts = {}};
  std::function<EnvEntry()> load;
  std::string library;
  std::optional<TrustedCode> code;  // of a file
  if (!is_world_file(name)) {
    const EnvEntry& entry = find_env(name);
    if (!entry.is_stepped_by_row()) {
      throw UsageError(
          fmt::format("{}: it steps all rows itself; only environments that hotloop "
                      "steps row by row can be checked here",
                      name));
    }
    load = [entry] { return entry; };
  } else if (std::error_code error; !std::filesystem::is_regular_file(name, error)) {
    throw UsageError(fmt::format("{}: no such file", name));
  } else {
    try {
      trust_named(name);
      code.emplace(read_code(name));
      const CompiledWorld world =
          compile_world_file(*code, default_compiler(), world_cache_folder());
      library = world.library;
      report.compiler_warnings = world.warnings;
    } catch (const UsageError& refused) {
      report.failures.push_back({refused.what(), ""});
      return report;
    }
    load = [library, name] { return only_world(library, name); };
  }
  const TrialResult result =
      run_trial([&] { return examine(load, library, options); }, options.timeout);
  if (result.is_done) {
    const Json json = Json::parse(result.text);
    report.name = json["name"];
    report.facts = json["facts"];
    report.steps_per_second = json["speed"];
    report.failures = read_findings(json["failures"]);
    report.warnings = read_findings(json["warnings"]);
  } else {
    report.failures.push_back({result.failure, hint_for_end(result)});
  }
  if (name.ends_with(".cpp") && !result.is_hung) add_sanitised(*code, report);
  return report;
}

}  // namespace hotloop
