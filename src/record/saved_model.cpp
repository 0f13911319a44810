#include "record/saved_model.hpp"

#include <fmt/format.h>

#include <filesystem>

#include <hotloop/error.hpp>

#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "env/registry.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& run, const std::string& which) {
  if (!fs::exists(run)) {
    throw UsageError(
        fmt::format("'{}': no such run folder or model file; a spec can only be used with "
                    "--policy, or in compare with --against",
                    run));
  }
  if (!fs::is_directory(run)) return run;
  std::string path = fmt::format("{}/model-{}.safetensors", run, which);
  if (fs::exists(path)) return path;
  throw UsageError(fmt::format(
      "'{}' has no {} model: a run writes it when it saves after an evaluation", run, which));
}

std::string option_list(std::string_view env) {
  const std::vector<std::string_view> names = env_option_names(env);
  return names.empty() ? "none" : join(names);
}

TrainSpec with_options(const TrainSpec& spec, std::span<const std::string> overrides) {
  if (overrides.empty()) return spec;
  for (const std::string& override : overrides) {
    if (full_override(override, spec.env).starts_with("env.options.")) continue;
    if (is_isolation_key(override)) continue;
    throw UsageError(
        fmt::format("--set {}: the spec of a saved model is fixed; allowed: env.options.* of its "
                    "environment: {}",
                    override, option_list(spec.env)));
  }
  TrainSpec changed = load_spec_text(to_yaml(spec), spec.name, overrides);
  const EnvSpec before = env_spec(spec.world());
  const EnvSpec now = env_spec(changed.world());
  const auto shape = [](const EnvSpec& env) {
    return env.actions > 0
               ? fmt::format("{} observations and {} actions", env.obs, env.actions)
               : fmt::format("{} observations and {} continuous actions", env.obs, env.action_size);
  };
  if (shape(now) == shape(before)) return changed;
  throw UsageError(fmt::format("--set: with these options {} has {}; the model expects {}",
                               spec.env, shape(now), shape(before)));
}

}  // namespace

SavedModel load_saved_model(const std::string& run, const std::string& which,
                            std::span<const std::string> overrides) {
  SavedModel saved{.path = path_of(run, which), .model = {}, .head = {}};
  saved.model = load_model(saved.path, saved.path == run ? FileKind::any : FileKind::regular);
  saved.head = network_head(saved.model.spec);
  // Up to here the environment was only the model's facts: no code from its file has run.
  const std::string& env = saved.model.spec.env;
  if (is_world_file(env) && fs::exists(env)) env_registry().forget(env);
  saved.model.spec = with_options(saved.model.spec, overrides);
  return saved;
}

void check_world_fits(const SavedModel& saved) {
  const EnvSpec env = env_spec(saved.model.spec.world());
  const int expected = saved.head->actions();
  const int has = env.actions > 0 ? env.actions : env.action_size;
  if (env.obs == saved.model.structure.inputs && has == expected) return;
  throw UsageError(fmt::format(
      "{}: the model expects {} observations and {} actions or action values, but {} has {} and "
      "{}: it has changed since training",
      saved.path, saved.model.structure.inputs, expected, saved.model.spec.env, env.obs, has));
}

Evaluation evaluate_model(const SavedModel& saved, const EvaluationOptions& options,
                          std::uint64_t seed, ThreadTeam& team, bool sample,
                          Demonstrations* record) {
  const Model& model = saved.model;
  check_world_fits(saved);
  if (sample && !saved.head->is_policy()) {
    throw UsageError(fmt::format(
        "--sample: {} was trained by {}, which learns {}", saved.path, model.spec.algorithm->name(),
        saved.head->has_values()
            ? "values, not a policy to sample from"
            : "a deterministic policy: there is no distribution to sample from"));
  }
  const EnvChoice world = model.spec.world();
  const InputScale scale = saved.scale();
  check_evaluation_fits(model.structure, *saved.head, env_spec(world), options.episodes);
  Evaluator evaluator(world, options, seed, model.structure, saved.head);
  return evaluator.run(model.parameters, saved.is_scaled() ? &scale : nullptr, team, sample,
                       record);
}

TrainSpec load_policy_spec(const std::string& run, std::span<const std::string> overrides) {
  if (run.ends_with(".safetensors")) return load_saved_model(run, "", overrides).model.spec;
  if (fs::is_directory(run)) return load_spec_file(run + "/spec.yaml", overrides);
  return load_spec(run, overrides);
}

}  // namespace hotloop
