// A training run as a plain struct, and its road to and from YAML.
//
// Every key is stated once, in keys.cpp or in the folder of its algorithm; reading, writing, messages and
// docs/specs.md follow from it. Whatever is wrong with a spec is a UsageError naming the place, the key, what
// was found and what is allowed.
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
#include "env/options.hpp"

namespace hotloop {

struct EvaluationOptions {
  std::int64_t every = 5'000;  // env steps; 0 = only at the end
  int episodes = 100;
  std::int64_t max_steps = 100'000;  // an episode that is longer counts as it is then
  double threshold = std::numeric_limits<double>::quiet_NaN();  // NaN = the env's solved_return
  bool stop_when_solved = false;
  std::string best = "return";  // what the best model has most of: see best_rule.hpp
  double gain = 0;              // by what share it must be better than the one before
};

inline constexpr std::int64_t kNoLimit = 1'000'000'000'000'000;  // env steps

struct RunOptions {
  std::int64_t steps = 50'000;  // env steps, all environments together
  std::int64_t episodes = 0;  // ends the run after the round in which this many have ended; 0 = no
  int threads = 1;
  double checkpoint_seconds = 30;   // 0 = after every round
  std::int64_t snapshot_every = 0;  // episodes; 0 = no snapshots
  std::int64_t log_every = 1'000;   // env steps
  bool episode_log = false;         // every episode into episodes.jsonl
  std::uint64_t seed = 1;
};

struct TrainSpec : AgentSpec {
  TrainSpec();  // of the default algorithm

  std::string name;   // of the run's folder; the file's name unless the spec says otherwise
  std::string about;  // one line for lists
  std::string env;
  EnvOptions env_options;
  EvaluationOptions evaluation;
  RunOptions run;
  // Plays in place of env, in this process alone; files never hear of it.
  std::string stand_in{};

  EnvChoice world() const { return {stand_in.empty() ? env : stand_in, env_options}; }
};

struct SpecInfo {
  std::string name;
  std::string about;
};

// The folder of the ready-made specs this build was made with.
const std::string& default_spec_folder();

// All NAME.yaml in the folder, sorted by name.
std::vector<SpecInfo> ready_made_specs(const std::string& folder = default_spec_folder());

// General settings of an algorithm for any environment, a registered name or the file of a world; the
// run is named after it. Null: the default algorithm for its kind of actions.
TrainSpec load_world_spec(const std::string& env, const Algorithm* algorithm,
                          std::span<const std::string> overrides = {});

// What a user may name on the command line: a spec, or a world, for which alone `algorithm` may be given.
TrainSpec load_spec_or_world(const std::string& name, const std::string& algorithm,
                             std::span<const std::string> overrides = {});

// Reads a ready-made spec by name, or a file by path; the file of a world means load_world_spec(). Each
// override is "key.path=value", the value being YAML, its key perhaps in the short form below; they apply in
// order, after the file.
TrainSpec load_spec(const std::string& name_or_path, std::span<const std::string> overrides = {},
                    const std::string& folder = default_spec_folder());

// `origin` names the text in messages; its file name without ending is the spec's default name. The file
// of a world is looked for beside `origin` first, then from the current folder.
TrainSpec load_spec_text(std::string_view text, const std::string& origin,
                         std::span<const std::string> overrides = {});

// The options of an environment; none if there is no such environment.
std::vector<std::string_view> env_option_names(std::string_view env);

// Overrides may say env.NAME for env.options.NAME where NAME is an option of the environment and not a
// key of the group env. The override with its key in full; others are returned as they are.
std::string full_override(const std::string& text, std::string_view env);

// The same spec with the file of its world named as it is in a run folder, beside spec.yaml and models.
TrainSpec portable(TrainSpec spec);

// Every key of its algorithm with its value. Reading it back gives the same spec, to the bit.
std::string to_yaml(const TrainSpec& spec);

// The keys as a Markdown table: the generated part of docs/specs.md.
std::string spec_reference();

}  // namespace hotloop
