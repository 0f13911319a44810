// hotloop doctor: what slows a training down, and what would really help.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "train/feasible.hpp"
#include "cli/commands.hpp"
#include "core/file.hpp"
#include "core/stop_signal.hpp"
#include "doctor/doctor.hpp"

namespace hotloop {
namespace {

// Before minutes of work: can the spec be written there?
void check_target(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  if (!path.ends_with(".yaml")) {
    throw UsageError(fmt::format("--apply {}: must end in .yaml", path));
  }
  if (fs::exists(path)) {
    throw UsageError(fmt::format("--apply {}: exists already; name a new file", path));
  }
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    throw UsageError(fmt::format("--apply {}: there is no folder '{}'", path, folder.string()));
  }
}

}  // namespace

int doctor_command(const DoctorArguments& arguments) {
  check_target(arguments.apply);
  const SpecSource source = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = arguments.overrides;
    if (arguments.seed) overrides.push_back(fmt::format("run.seed={}", *arguments.seed));
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_spec_or_world(arguments.spec, arguments.algorithm, overrides);
  };
  check_feasible(source({}));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto progress = [&](const std::string& text) {
    fmt::print(stderr, "{}{}{}", terminal ? "\r\x1b[K" : "", text, terminal ? "" : "\n");
    std::fflush(stderr);
  };
  DoctorOptions options{.minutes = arguments.minutes, .stop = &stop_requested()};
  if (!arguments.quiet) options.progress = progress;
  const Diagnosis diagnosis = examine_spec(source, options);
  if (terminal && !arguments.quiet) fmt::print(stderr, "\r\x1b[K");

  fmt::print("{}",
             arguments.json ? diagnosis_json(diagnosis).dump() + "\n" : diagnosis_text(diagnosis));
  std::fflush(stdout);
  if (arguments.apply.empty()) return 0;
  if (diagnosis.overrides.empty()) {
    fmt::print(stderr, "nothing is recommended that a spec could say: {} is not written\n",
               arguments.apply);
    return 0;
  }
  write_file_atomically(arguments.apply, to_yaml(source(diagnosis.overrides)));
  fmt::print(stderr, "{0} has what is recommended: hotloop train {0}\n", arguments.apply);
  return 0;
}

}  // namespace hotloop
