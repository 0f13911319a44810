// Several policies on the same episode starts, perhaps for several values of an option of their
// environment: what is reported of it.
//
// Trained policies of one recipe (all of the spec that decides training, but for the seed) form a group: a
// row for each run, and a pooled row, for which the runs' values at each start are averaged first: starts
// are what its interval is about, not how runs differ, which the rows above it show.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/statistics.hpp"
#include "evaluate/evaluation.hpp"

namespace hotloop {

// One policy, at one value of the option.
struct Contestant {
  std::string value;                  // empty if no option varies
  std::string policy;                 // the spec's name, or that of a policy without a network
  std::string run;                    // where the model comes from; empty if there is none
  std::optional<std::uint64_t> seed;  // of its training
  std::string algorithm{};            // it was trained by
  std::string recipe{};               // equal for runs that differ only by their seeds
};

struct ComparedRow {
  Contestant who;      // without run and seed if pooled; its policy tells groups of one name apart
  std::string note{};  // what tells a run from another of the same spec and seed
  int runs = 1;
  bool stands_for_policy = true;  // false: one of several runs, for which a pooled row stands
  int episodes = 0;
  std::vector<Summary> measures{};  // as in Comparison
};

struct Comparison {
  std::string env;
  std::string option;  // that varies; may be empty
  int episodes = 0;    // of each contestant and value
  std::uint64_t seed = 0;
  std::vector<std::string> measures{};  // names: score first, "return" last
  std::vector<ComparedRow> rows{};      // by value, then policy, in the order they were played
};

struct Played {
  Contestant who;
  Evaluation evaluation;
};

// `played` in any order; rows of a value or a policy come together, where the first of them stands.
Comparison compare(const EnvSpec& env, const std::string& option, std::uint64_t seed,
                   const std::vector<Played>& played);

// The place of a measure in comparison.measures. Throws UsageError naming those there are; an empty name
// is the score, or the return where none is kept.
int find_measure(const std::string& name, const EnvSpec& env);

// Tables of at most five measures each, or of the one given.
std::string comparison_markdown(const Comparison& comparison, std::optional<int> measure);
// Long form: value, policy, run, seed, measure, mean, low, high, count.
std::string comparison_csv(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);
// One measure against the values, a point with its interval for each policy: SVG.
std::string comparison_figure(const Comparison& comparison, int measure);

}  // namespace hotloop
