#include "envs/sfc/rules.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include <algorithm>
#include <cassert>
#include <limits>

#include "envs/option_reader.hpp"

namespace hotloop {
namespace {

constexpr double kDerived = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxReward = 1e6;

constexpr EnvOption derived_integer(std::string_view name, int low, int high,
                                    std::string_view about) {
  return {name, about, kDerived, static_cast<double>(low), static_cast<double>(high), true};
}

// In the order in which sfc_rules reads them.
constexpr EnvOption kOptions[] = {
    word_option("mode", {"reference", "paper"}, 0,
                "numbers and quirks of the public trainer, or those of its paper"),
    derived_integer("centres", 2, kSfcMaxCentres,
                    "data centres; if not set, drawn for each episode from fewest to most"),
    integer_option("fewest", 2, 2, kSfcMaxCentres, "minimum data centres, if centres is not set"),
    derived_integer("most", 2, kSfcMaxCentres,
                    "maximum data centres, if centres is not set; default 8, 4 in paper mode"),
    derived_integer("pending_cap", 1, kSfcMaxPending,
                    "requests that may wait; default 50, 2000 in paper mode"),
    derived_integer("rounds", 1, 1000,
                    "generations of requests per episode; default 1, 5 in paper mode"),
    integer_option("interval", 4, 1, 1000, "ms between generations"),
    number_option("traffic", 1, 0.01, 10,
                  "factor for the size of bundles; each has at least 1 request"),
    number_option("timeout_reward", kDerived, -kMaxReward, kMaxReward,
                  "per request dropped by time-out; default 0, -1.5 in paper mode"),
    number_option("placement_reward", 0, -kMaxReward, kMaxReward,
                  "for a placement that does not finish a chain"),
    view(word_option("mask", {"off", "on"}, 0, "forbid actions that would cost -1 or -0.5")),
    view(word_option("scale", {"off", "on"}, 0,
                     "divide observations by typical values, so that most lie within 1")),
    integer_option("max_steps", 10050, 1, 1000000, "actions after which an episode is truncated"),
};

std::array<SfcType, kSfcTypes> reference_types() {
  return {{
      {{0, 1, 2, 4, 5}, 5, 0.004, 80, 40, 54},   // CG
      {{0, 1, 3, 2, 5}, 5, 0.1, 10, 1, 3},       // AR
      {{0, 1, 3}, 3, 0.00064, 100, 100, 199},    // VoIP
      {{0, 1, 3, 2, 5}, 5, 0.004, 100, 50, 99},  // VS
      {{0, 1, 5}, 3, 0, 0.005, 10, 14},          // MIoT
      {{0, 1}, 2, 0.07, 8, 1, 3},                // Ind4.0
  }};
}

std::array<SfcType, kSfcTypes> paper_types() {
  return {{
      {{0, 1, 2, 4, 5}, 5, 4, 80, 40, 55},
      {{0, 1, 3, 2, 5}, 5, 100, 10, 1, 4},
      {{0, 1, 3, 1, 0}, 5, 0.064, 100, 100, 200},
      {{0, 1, 3, 2, 5}, 5, 4, 100, 50, 100},
      {{0, 1, 5}, 3, 0, 5, 10, 15},
      {{0, 1}, 2, 70, 8, 1, 4},
  }};
}

void complete(SfcType& type) {
  assert(type.chain[0] == kSfcFirstFunction);
  for (int i = 0; i < type.length; ++i) {
    type.processing += kSfcFunction[type.chain[i]].processing;
    ++type.uses[type.chain[i]];
  }
  for (int placed = 0; placed <= type.length; ++placed) {
    auto& row = type.progress[placed];
    row[0] = 1;
    for (int i = 0; i < type.length; ++i) {
      row[1 + (i < placed ? 0 : kSfcFunctions) + type.chain[i]] = 1;
    }
  }
}

}  // namespace

std::span<const EnvOption> sfc_options() { return kOptions; }

SfcRules sfc_rules(std::span<const double> values) {
  OptionReader read(kOptions, values);
  SfcRules rules;
  rules.paper = read.is_second("mode");
  const bool paper = rules.paper;
  const int centres = read.integer("centres");
  rules.min_centres = read.integer("fewest");
  rules.max_centres = read.integer("most", paper ? 4 : 8);
  if (centres > 0) {
    rules.min_centres = rules.max_centres = centres;
  } else if (rules.min_centres > rules.max_centres) {
    throw UsageError(
        fmt::format("env.options.fewest: found {} with most {}; allowed: 2 to {}, or "
                    "a larger most",
                    rules.min_centres, rules.max_centres, rules.max_centres));
  }
  rules.pending_cap = read.integer("pending_cap", paper ? 2000 : 50);
  rules.rounds = read.integer("rounds", paper ? 5 : 1);
  rules.interval = read.integer("interval");
  rules.traffic = read.number("traffic");
  rules.timeout_reward = read.number("timeout_reward", paper ? -1.5 : 0);
  rules.placement_reward = read.number("placement_reward");
  rules.mask = read.is_second("mask");
  rules.scale = read.is_second("scale");
  rules.max_steps = read.integer("max_steps");
  rules.max_cpu = paper ? 120 : 119;
  rules.types = paper ? paper_types() : reference_types();
  for (SfcType& type : rules.types) complete(type);
  return rules;
}

EnvSpec sfc_spec(const SfcRules& rules) {
  return {.name = "sfc",
          .obs = 152,
          .actions = 13,  // uninstall 0..5, allocate 6..11, wait
          .max_steps = rules.max_steps,
          .parts = {{{"dc", {14}}, {"dc_sfc", {6, 13}}, {"global", {6, 10}}}},
          .about = "place chains of network functions on 2 to 8 data centres (DRL-NFV's planner)",
          .measures = {"score", "settled", "delay", "utilisation", "generated", "satisfied",
                       "dropped", "cg", "ar", "voip", "vs", "miot", "ind"}};
}

std::array<float, 152> sfc_scale(const SfcRules& rules) {
  std::array<float, 152> factors;
  factors.fill(1);
  // A round has up to 378 requests in paper mode, up to 50 in reference mode.
  const float requests = rules.paper ? 1.0f / 400 : 1.0f / 50;
  const float bandwidth = rules.paper ? 1.0f / 100 : 1.0f / 50;
  for (int i = 0; i < 12; ++i) factors[i] = 1.0f / 8;  // instances
  factors[12] = 1.0f / kSfcStorage;
  factors[13] = 1.0f / static_cast<float>(rules.max_cpu);
  for (int type = 0; type < kSfcTypes; ++type) {
    float* row = &factors[92 + 10 * type];  // flag, pending, remaining time, bandwidth, 6 needed
    row[1] = requests;
    row[2] = 1.0f / 100;
    row[3] = bandwidth;
    std::fill_n(row + 4, 6, requests);
  }
  return factors;
}

}  // namespace hotloop
