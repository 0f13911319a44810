// Reports of several policies on the same episode starts, optionally for several values of an
// environment option.
//
// Trained policies with one recipe (everything in the spec that affects training, except the seed)
// form a group. It has a row for each run and a pooled row. The pooled row first averages the runs'
// values at each start, so its interval is over starts. The rows above it show how runs differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/statistics.hpp"
#include "evaluate/evaluation.hpp"

namespace hotloop {

// One policy, at one value of the option.
struct Contestant {
  std::string value;                  // empty if no option varies
  std::string policy;                 // name of the spec, or of a policy without a network
  std::string run;                    // path of the model; empty if there is none
  std::optional<std::uint64_t> seed;  // of its training
  std::string algorithm{};            // that trained it
  std::string recipe{};               // equal for runs that differ only in their seeds
};

struct ComparedRow {
  Contestant who;      // without run and seed if pooled; its policy is unique to the group
  std::string note{};  // distinguishes runs of the same spec and seed
  int runs = 1;
  bool stands_for_policy = true;  // false: one of several runs that a pooled row summarises
  int episodes = 0;
  std::vector<Summary> measures{};  // in the order of Comparison::measures
};

struct Comparison {
  std::string env;
  std::string option;  // that varies; may be empty
  int episodes = 0;    // per contestant and value
  std::uint64_t seed = 0;
  std::vector<std::string> measures{};  // names: score first, "return" last
  std::vector<ComparedRow> rows{};      // by value, then policy, in the order they were played
};

struct Played {
  Contestant who;
  Evaluation evaluation;
};

// `played` may be in any order. Rows of the same value, then of the same policy, are grouped in the
// order of their first appearance.
Comparison compare(const EnvSpec& env, const std::string& option, std::uint64_t seed,
                   const std::vector<Played>& played);

// The index of a measure in comparison.measures. Throws UsageError with the allowed names. An empty
// name means the score, or the return if the environment has no score.
int find_measure(const std::string& name, const EnvSpec& env);

// Tables of at most five measures each, or only of the given one.
std::string comparison_markdown(const Comparison& comparison, std::optional<int> measure);
// Long format: value, policy, run, seed, measure, mean, low, high, count.
std::string comparison_csv(const Comparison& comparison);
Json comparison_json(const Comparison& comparison);
// An SVG of one measure against the option's values, a point with its interval for each policy.
std::string comparison_figure(const Comparison& comparison, int measure);

}  // namespace hotloop
