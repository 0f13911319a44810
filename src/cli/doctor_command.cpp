// hotloop doctor: measures what slows training down, and which remedies help.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/file.hpp"
#include "core/stop_signal.hpp"
#include "doctor/doctor.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

struct DoctorArguments {
  std::string spec;
  std::string algorithm;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  double minutes = 3;
  std::string apply;  // a new .yaml: the spec with all recommendations
  bool json = false;
  bool quiet = false;
};

// Called first, so that a bad path is reported before minutes of work.
void check_target(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  if (!path.ends_with(".yaml")) {
    throw UsageError(fmt::format("--apply {}: must end in .yaml", path));
  }
  if (fs::exists(path)) {
    throw UsageError(fmt::format("--apply {}: already exists; name a new file", path));
  }
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    throw UsageError(fmt::format("--apply {}: there is no folder '{}'", path, folder.string()));
  }
}

int doctor_command(const DoctorArguments& arguments) {
  check_target(arguments.apply);
  const SpecSource source = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = arguments.overrides;
    if (arguments.seed) overrides.push_back(fmt::format("run.seed={}", *arguments.seed));
    trust_named(arguments.spec);
    for (const std::string& text : overrides) trust_named(text);
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_spec_or_world(arguments.spec, arguments.algorithm, overrides);
  };
  check_feasible(source({}));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto progress = [&](const std::string& text) {
    if (terminal) {
      print_status(text);
    } else {
      print_note("{}\n", text);
    }
  };
  DoctorOptions options{.minutes = arguments.minutes, .stop = &stop_requested()};
  if (!arguments.quiet) options.progress = progress;
  const Diagnosis diagnosis = examine_spec(source, options);
  if (terminal && !arguments.quiet) print_status("");

  if (arguments.json) {
    print_result("{}\n", diagnosis_json(diagnosis).dump());
  } else {
    print_text("{}", diagnosis_text(diagnosis));
  }
  flush_results();
  if (arguments.apply.empty()) return 0;
  if (diagnosis.overrides.empty()) {
    print_note("no recommendation changes the spec: {} is not written\n", arguments.apply);
    return 0;
  }
  write_file_atomically(arguments.apply, to_yaml(source(diagnosis.overrides)));
  print_note("wrote {0} with all recommendations; try: hotloop train {0}\n", arguments.apply);
  return 0;
}

const Command kAddDoctor(
    {"doctor", "measure what slows training down, and which remedies help without hurting it",
     [](CLI::App& app, int& code) {
       static DoctorArguments doctor;
       app.add_option("SPEC", doctor.spec, "a spec, or the .cpp file of an environment")
           ->required();
       add_algorithm(app, doctor.algorithm);
       app.add_option("--set", doctor.overrides, "override a key of the spec")
           ->allow_extra_args(false);
       add_isolate(app, doctor.overrides);
       app.add_option("--seed", doctor.seed, "first random seed (run.seed); the next runs count up")
           ->check(kSeed);
       app.add_option("--minutes", doctor.minutes, "how long it may take")
           ->check(CLI::Range(0.05, 10'000.0))
           ->capture_default_str();
       app.add_option("--apply", doctor.apply,
                      "write the spec with all recommendations to this new .yaml");
       add_trust(app);
       app.add_flag("--json", doctor.json, "print one JSON object on standard output");
       app.add_flag("--quiet", doctor.quiet, "no progress");
       app.callback([&code] { code = doctor_command(doctor); });
     }});

}  // namespace
}  // namespace hotloop
