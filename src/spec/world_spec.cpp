// Specs for environments without one: the general settings of an algorithm, specs/algos/NAME.yaml.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "env/registry.hpp"
#include "spec/spec.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

const Algorithm& read_algorithm(const std::string& name) {
  if (const Algorithm* algorithm = look_up_algorithm(name)) return *algorithm;
  throw UsageError(
      fmt::format("--algo {}: unknown algorithm; {}", name, suggestion(name, algorithm_names())));
}

}  // namespace

TrainSpec portable(TrainSpec spec) {
  if (is_world_file(spec.env)) spec.env = fs::path(spec.env).filename().string();
  if (!spec.learn.demonstrations.empty()) spec.learn.demonstrations = kDemonstrationsFile;
  return spec;
}

TrainSpec load_world_spec(const std::string& env, const Algorithm* algorithm,
                          std::span<const std::string> overrides) {
  if (is_world_file(env)) env_registry().forget(env);  // the file may have changed
  const bool is_isolated = std::ranges::any_of(overrides, [](const std::string& text) {
    return text.starts_with("env.isolate=") && text != "env.isolate=false";
  });
  const EnvSpec facts = *find_env({.name = env, .isolation = {.on = is_isolated}}).spec;
  const Algorithm& chosen = algorithm != nullptr ? *algorithm : default_algorithm(facts);
  for (const std::string& override_text : overrides) {
    if (override_text.starts_with("algo.name=")) {
      throw UsageError(fmt::format(
          "--set {}: the general settings depend on the algorithm; choose it with --algo, "
          "allowed: {}",
          override_text, join(algorithm_names())));
    }
  }
  std::vector<std::string> all = {"env.name=" + yaml_quoted(env),
                                  "name=" + yaml_quoted(fs::path(env).stem().string())};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const std::string path = fmt::format("{}/algos/{}.yaml", default_spec_folder(), chosen.name());
  return load_spec_text(read_file(path).text(), path, all);
}

TrainSpec load_spec_or_world(const std::string& name, const std::string& algorithm,
                             std::span<const std::string> overrides) {
  if (algorithm.empty()) return load_spec(name, overrides);
  const Algorithm& chosen = read_algorithm(algorithm);
  const std::vector<SpecInfo> specs = ready_made_specs();
  const bool is_spec = std::any_of(specs.begin(), specs.end(),
                                   [&](const SpecInfo& spec) { return spec.name == name; });
  std::error_code error;
  if (!is_world_file(name) && (is_spec || fs::exists(name, error))) {
    throw UsageError(
        fmt::format("--algo {0}: {1} is a spec, which already names its algorithm; --algo is for "
                    "environments: a .cpp file or a name from hotloop list envs",
                    algorithm, name));
  }
  return load_world_spec(name, &chosen, overrides);
}

}  // namespace hotloop
