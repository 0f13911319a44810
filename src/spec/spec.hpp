// A training run as a plain struct, read from YAML and written to YAML.
//
// Every key is declared once, in keys.cpp or in the folder of its algorithm. Reading, writing,
// messages and docs/specs.md are generated from it. Every mistake in a spec is a UsageError that
// names the place, the key, what was found and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algo/common/agent_spec.hpp"
#include "core/file.hpp"
#include "env/options.hpp"

namespace hotloop {

struct EvaluationOptions {
  std::int64_t every = 5'000;  // env steps; 0 = only at the end
  int episodes = 100;
  std::int64_t max_steps = 100'000;  // longer episodes are cut and count with their return so far
  double threshold = std::numeric_limits<double>::quiet_NaN();  // NaN = the env's solved_return
  bool stop_when_solved = false;
  std::string best = "return";  // the score of a model: see best_rule.hpp
  double gain = 0;              // minimum relative improvement for a new best model
};

inline constexpr std::int64_t kNoLimit = 1'000'000'000'000'000;  // env steps

struct RunOptions {
  std::int64_t steps = 50'000;  // env steps, over all environments
  std::int64_t episodes = 0;  // ends the run after the round in which this many have ended; 0 = no
  double checkpoint_seconds = 30;   // 0 = after every round
  std::int64_t snapshot_every = 0;  // episodes; 0 = no snapshots
  std::int64_t log_every = 1'000;   // env steps
  std::int64_t log_rows = 10'000;   // beyond it metrics.jsonl is thinned; 0 = never
  bool episode_log = false;         // writes every episode to episodes.jsonl
  std::uint64_t seed = 1;
};

struct TrainSpec : AgentSpec {
  TrainSpec();  // with the default algorithm

  std::string name;   // of the run's folder; the file's name unless given
  std::string about;  // one line for lists
  std::string env;
  EnvOptions env_options;
  Isolation isolation;
  EvaluationOptions evaluation;
  RunOptions run;
  // Replaces `env` in this process only; never written to files.
  std::string stand_in{};

  EnvChoice world() const { return {stand_in.empty() ? env : stand_in, env_options, isolation}; }
};

struct SpecInfo {
  std::string name;
  std::string about;
};

// The folder of the ready-made specs.
const std::string& default_spec_folder();

// All NAME.yaml in the folder, sorted by name.
std::vector<SpecInfo> ready_made_specs(const std::string& folder = default_spec_folder());

// The general settings of an algorithm for an environment, a registered name or a .cpp file; the
// run is named after it. Null: the default algorithm for its kind of actions.
TrainSpec load_world_spec(const std::string& env, const Algorithm* algorithm,
                          std::span<const std::string> overrides = {});

// Loads a spec or an environment, as named by the user. `algorithm` is only for environments.
TrainSpec load_spec_or_world(const std::string& name, const std::string& algorithm,
                             std::span<const std::string> overrides = {});

// Reads a ready-made spec by name, or a file by path; for an environment it calls
// load_world_spec(). Each override is "key.path=value", where the value is YAML and the key may
// have the short form below. They apply in order, after the file.
TrainSpec load_spec(const std::string& name_or_path, std::span<const std::string> overrides = {},
                    const std::string& folder = default_spec_folder());

// Reads a file by path. A file in a run folder is a regular one; see FileKind.
inline constexpr std::size_t kMaxSpecBytes = std::size_t{64} << 20;
TrainSpec load_spec_file(const std::string& path, std::span<const std::string> overrides = {},
                         FileKind kind = FileKind::regular);

// `origin` names the text in messages; its file name without extension is the spec's default name.
// The file of an environment is looked up beside `origin` first, then in the current folder.
TrainSpec load_spec_text(std::string_view text, const std::string& origin,
                         std::span<const std::string> overrides = {});

// The options of an environment; none if there is no such environment.
std::vector<std::string_view> env_option_names(std::string_view env);

// Expands env.NAME to env.options.NAME if NAME is an option of the environment and not a key of the
// group env. Other overrides are returned unchanged.
std::string full_override(const std::string& text, std::string_view env);

// Whether an override, "env.isolate=true", only says in which process an environment runs.
bool is_isolation_key(std::string_view override_text);

// The same spec for a run folder, where the file of the environment, and that of demonstrations, are
// beside spec.yaml.
inline constexpr const char* kDemonstrationsFile = "demonstrations.safetensors";
TrainSpec portable(TrainSpec spec);

// All keys with their values. Reading it back gives the same spec, bit for bit.
std::string to_yaml(const TrainSpec& spec);

// The keys as a Markdown table: the generated part of docs/specs.md.
std::string spec_reference();

}  // namespace hotloop
