#include "envs/durotaxis/rules.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include "envs/option_reader.hpp"

namespace hotloop {
namespace {

constexpr double kMaxFactor = 1e6;
// Intensities up to exp(kMaxExponent), and their sums over all cells, stay finite as floats.
constexpr double kMaxExponent = 70;
constexpr double kMaxRandomSlope = 0.05;  // slope of a random exponential field
constexpr int kMaxSide = 1400;            // kMaxExponent / kMaxRandomSlope
constexpr float kMaxAngle = 0.5236f;      // 30 degrees

constexpr std::array<float, kMaxActionSize> kLow = {0, 0.5f, 0.5f, 0.05f, -kMaxAngle};
constexpr std::array<float, kMaxActionSize> kHigh = {1, 15, 4, 0.5f, kMaxAngle};

constexpr EnvOption switch_option(std::string_view name, bool initial, std::string_view about) {
  return word_option(name, {"off", "on"}, initial ? 1 : 0, about);
}

// In the order in which durotaxis_rules reads them.
constexpr EnvOption kOptions[] = {
    integer_option("width", 600, 50, kMaxSide,
                   "columns of the field; cells start in the left tenth"),
    integer_option("height", 400, 50, kMaxSide, "rows of the field"),
    word_option("substrate", {"linear", "exponential", "random"}, 0,
                "intensity over columns; random draws kind, slope and offset each episode"),
    number_option("slope", 0.05, 0, 1, "m of the field m x + b or b exp(m x)"),
    number_option("offset", 1, 0, 100, "b of the field"),
    integer_option("cells", 5, 1, kDurotaxisMaxCells, "cells at the start"),
    number_option("ratio", 0.5, 0.01, 1, "largest share of the cells that an action can delete"),
    integer_option("stage", 2, 1, 2, "1: actions use only the ratio; 2: all five values"),
    word_option("reward", {"normal", "delete", "distance", "combined"}, 2,
                "all components, penalties only, centroid only, or the last two"),
    switch_option("include_termination", true,
                  "reward the end of an episode also in modes other than normal"),
    switch_option("delta", true,
                  "reward the change of the distance since the previous step, or the distance"),
    number_option("terminal_scale", 0.02, 0, kMaxFactor,
                  "factor for the termination reward in distance and combined mode"),
    number_option("terminal_clip", 10, 0, kMaxFactor,
                  "bound on the absolute value of that product"),
    number_option("penalty_factor", 1, 0, kMaxFactor,
                  "factor for negative graph and node rewards in normal mode"),
    switch_option("bonus", false, "the original trainer's bonus for long episodes"),
    integer_option("soft_limit", 50, 1, kDurotaxisMaxCells,
                   "cells above which growth is penalised and cells are marked for deletion"),
    integer_option("hard_limit", 100, 5, kDurotaxisMaxCells,
                   "cells above which an episode ends; the maximum that an observation shows"),
    switch_option("recovery", false, "restart an empty colony, for a penalty"),
    integer_option("recovery_cells", 5, 1, kDurotaxisMaxCells, "cells of a restarted colony"),
    integer_option("recovery_attempts", 2, 1, 1000000, "maximum restarts per episode"),
    integer_option("patience", 30, 1, 1000000,
                   "an episode ends when the centroid falls back in this many consecutive steps"),
    number_option("success", 0.99, 0.11, 1, "share of the width that a cell must reach"),
    integer_option("max_steps", 1000, 1, 1000000, "steps after which an episode is truncated"),
    view(word_option("scale", {"raw", "unit"}, 0,
                     "features as they are, or scaled to about 1 by constants")),
};

void check(const DurotaxisRules& rules) {
  const auto max_cells = [&](std::string_view name, int cells) {
    if (cells > rules.hard_limit) {
      throw UsageError(fmt::format("env.options.{}: found {} with hard_limit {}; allowed: 1 to {}",
                                   name, cells, rules.hard_limit, rules.hard_limit));
    }
  };
  max_cells("cells", rules.cells);
  max_cells("recovery_cells", rules.recovery_cells);
  if (rules.substrate == DurotaxisSubstrate::exponential &&
      rules.slope * rules.goal() > kMaxExponent) {
    throw UsageError(fmt::format(
        "env.options.slope: found {} with an exponential field {} wide; allowed: 0 to {:.4f}, "
        "beyond which intensities overflow a float",
        rules.slope, rules.width, kMaxExponent / rules.goal()));
  }
  const double reach = (rules.width - rules.margin_x()) / rules.width;
  if (rules.success > reach + 1e-9) {
    throw UsageError(fmt::format(
        "env.options.success: found {} with a width of {}; allowed: 0.11 to {:.4f}, because cells "
        "stay {} away from the edge",
        rules.success, rules.width, reach, rules.margin_x()));
  }
}

}  // namespace

double DurotaxisRules::max_intensity() const {
  const auto value = [this](bool exponential, double m, double b) {
    return DurotaxisField{exponential, m, b}.at(goal(), width);
  };
  if (substrate != DurotaxisSubstrate::random) return field().at(goal(), width);
  return std::max(value(false, 0.1, 2.0), value(true, kMaxRandomSlope, 1.5));
}

DurotaxisAction DurotaxisRules::clip(std::span<const float> action) const {
  const auto value = [&](int i, float high) -> double {
    const float low = kLow[i];
    return action[i] > low ? std::min(action[i], high) : low;
  };
  DurotaxisAction clipped;
  clipped.ratio = value(0, static_cast<float>(ratio));
  if (stage == 1) return clipped;  // the others keep the constants of stage 1
  clipped.gamma = value(1, kHigh[1]);
  clipped.alpha = value(2, kHigh[2]);
  clipped.noise = value(3, kHigh[3]);
  clipped.theta = value(4, kHigh[4]);
  return clipped;
}

std::span<const EnvOption> durotaxis_options() { return kOptions; }

DurotaxisRules durotaxis_rules(std::span<const double> values) {
  OptionReader read(kOptions, values);
  DurotaxisRules rules;
  rules.width = read.integer("width");
  rules.height = read.integer("height");
  rules.substrate = static_cast<DurotaxisSubstrate>(read.integer("substrate"));
  rules.slope = read.number("slope");
  rules.offset = read.number("offset");
  rules.cells = read.integer("cells");
  rules.ratio = read.number("ratio");
  rules.stage = read.integer("stage");
  rules.reward = static_cast<DurotaxisMode>(read.integer("reward"));
  rules.include_termination = read.is_second("include_termination");
  rules.delta = read.is_second("delta");
  rules.terminal_scale = read.number("terminal_scale");
  rules.terminal_clip = read.number("terminal_clip");
  rules.penalty_factor = read.number("penalty_factor");
  rules.bonus = read.is_second("bonus");
  rules.soft_limit = read.integer("soft_limit");
  rules.hard_limit = read.integer("hard_limit");
  rules.recovery = read.is_second("recovery");
  rules.recovery_cells = read.integer("recovery_cells");
  rules.recovery_attempts = read.integer("recovery_attempts");
  rules.patience = read.integer("patience");
  rules.success = read.number("success");
  rules.max_steps = read.integer("max_steps");
  rules.unit = read.is_second("scale");
  check(rules);
  return rules;
}

EnvSpec durotaxis_spec(const DurotaxisRules& rules) {
  const int max_cells = rules.hard_limit;
  EnvSpec spec{
      .name = "durotaxis",
      .obs = kDurotaxisGraphFeatures +
             max_cells * (kDurotaxisCellFeatures + kDurotaxisEdgeFeatures + 1),
      .action_size = 5,  // ratio, gamma, alpha, noise, theta
      .action_low = kLow,
      .action_high = kHigh,
      .max_steps = rules.max_steps,
      .parts = {{{"graph", {kDurotaxisGraphFeatures}},
                 {"nodes", {max_cells, kDurotaxisCellFeatures}},
                 {"edges", {max_cells, kDurotaxisEdgeFeatures}},
                 {"parents", {max_cells}}}},
      .about =
          "lead a colony of cells to stiffer ground by growing and deleting "
          "(rl-durotaxis)",
      .measures = {"success",  "progress",   "centroid",    "cells",           "graph",     "spawn",
                   "delete",   "efficiency", "edge",        "centroid_reward", "milestone", "node",
                   "survival", "recovery",   "termination", "cell_reward",     "ratio",     "gamma",
                   "alpha",    "noise",      "theta"},
      .reward_parts = {"graph", "spawn", "delete", "edge", "node"}};
  spec.action_high[0] = static_cast<float>(rules.ratio);
  return spec;
}

}  // namespace hotloop
