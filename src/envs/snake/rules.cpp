#include "envs/snake/rules.hpp"

#include <hotloop/error.hpp>

#include <limits>

#include "envs/option_reader.hpp"

namespace hotloop {
namespace {

constexpr EnvOption yes_or_no(std::string_view name, std::string_view about) {
  return word_option(name, {"false", "true"}, 0, about);
}

// A quirk of the original that `faithful` switches on.
constexpr EnvOption quirk(std::string_view name, std::string_view about) {
  return word_option(name, {"auto", "false", "true"}, 0, about);
}

constexpr double kDerived = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxReward = 1e6;

// In the order in which snake_rules reads them.
constexpr EnvOption kOptions[] = {
    integer_option("grid", 10, 4, 32, "cells along a side of the board"),
    view(word_option("obs", {"basic", "flood", "selective", "enhanced", "grid", "lookahead"}, 0,
                     "the observation: 10, 13, 18 or 23 features, the board with 3 channels, or 20 "
                     "features that look one move ahead")),
    view(word_option("actions", {"relative", "absolute"}, 0,
                     "straight, left, right; or up, right, down, left")),
    integer_option("max_steps", 1000, 1, 1000000, "steps after which an episode is truncated"),
    yes_or_no("faithful",
              "switch on the original's quirks, except those that are set individually"),
    quirk("food_under_head",
          "food may appear under the head, and after 100 tries on the body; auto = faithful"),
    quirk("lethal_tail", "entering the cell that the tail is leaving kills; auto = faithful"),
    quirk("post_turn_trap",
          "entrapment is judged from the heading after the turn; auto = faithful"),
    quirk("timeout_ends", "reaching max_steps terminates instead of truncating; auto = faithful"),
    yes_or_no("zero_flood",
              "flood features of selective and enhanced observations are 0; not part of faithful, "
              "because the original does this only without flood"),
    number_option("food_reward", 10, -kMaxReward, kMaxReward, "for eating"),
    number_option("death_reward", -10, -kMaxReward, kMaxReward, "for dying"),
    number_option("step_reward", -0.01, -kMaxReward, kMaxReward, "for any other step"),
    number_option("shaping", 0.5, 0, kMaxReward,
                  "factor for the distance to food gained in a step, in board widths; 0 = off"),
    number_option("timeout_reward", kDerived, -kMaxReward, kMaxReward,
                  "added in step number max_steps; default 0, -5 if faithful"),
    yes_or_no("soft_entrapment",
              "use the soft rewards while all flood values are below soft_threshold"),
    number_option("soft_threshold", 0.3, 0, 1, "share of the free cells that must be reachable"),
    number_option("soft_step_reward", 0.02, -kMaxReward, kMaxReward,
                  "instead of step_reward while softly entrapped"),
    number_option("soft_food_reward", -5, -kMaxReward, kMaxReward,
                  "instead of food_reward while softly entrapped"),
    yes_or_no("entrapped_flag", "one more feature: softly entrapped; needs soft_entrapment"),
    speed(word_option("flood_fill", {"bits", "queue"}, 0,
                      "how reachable cells are counted: on boards of bits, or with a queue per "
                      "direction as in the original; the numbers are the same")),
};

void refuse_contradictions(const SnakeRules& rules) {
  const auto name = kOptions[1].choices[static_cast<std::size_t>(rules.obs)];
  if (rules.entrapped_flag && !rules.soft_entrapment) {
    throw UsageError(
        "env.options.entrapped_flag: found true with soft_entrapment false; allowed: false, or "
        "soft_entrapment true");
  }
  if (rules.entrapped_flag && (rules.is_grid() || rules.obs == SnakeObs::lookahead)) {
    throw UsageError("env.options.entrapped_flag: found true with obs " + std::string(name) +
                     "; allowed: false, or obs basic, flood, selective, enhanced");
  }
  if (rules.zero_flood && !rules.has_tail()) {
    throw UsageError("env.options.zero_flood: found true with obs " + std::string(name) +
                     "; allowed: false, or obs selective, enhanced");
  }
}

}  // namespace

std::span<const EnvOption> snake_options() { return kOptions; }

SnakeRules snake_rules(std::span<const double> values) {
  OptionReader read(kOptions, values);
  SnakeRules rules;
  rules.grid = read.integer("grid");
  rules.obs = static_cast<SnakeObs>(read.integer("obs"));
  rules.absolute = read.is_second("actions");
  rules.max_steps = read.integer("max_steps");
  const bool faithful = read.is_second("faithful");
  const auto has_quirk = [&](std::string_view name) {
    const int word = read.integer(name);  // auto, false, true
    return word == 0 ? faithful : word == 2;
  };
  rules.food_under_head = has_quirk("food_under_head");
  rules.lethal_tail = has_quirk("lethal_tail");
  rules.post_turn_trap = has_quirk("post_turn_trap");
  rules.timeout_ends = has_quirk("timeout_ends");
  rules.zero_flood = read.is_second("zero_flood");
  rules.food_reward = read.number("food_reward");
  rules.death_reward = read.number("death_reward");
  rules.step_reward = read.number("step_reward");
  rules.shaping = read.number("shaping");
  rules.timeout_reward = read.number("timeout_reward", faithful ? -5 : 0);
  rules.soft_entrapment = read.is_second("soft_entrapment");
  rules.soft_threshold = read.number("soft_threshold");
  rules.soft_step_reward = read.number("soft_step_reward");
  rules.soft_food_reward = read.number("soft_food_reward");
  rules.entrapped_flag = read.is_second("entrapped_flag");
  rules.queue_fill = read.is_second("flood_fill");
  refuse_contradictions(rules);
  return rules;
}

EnvSpec snake_spec(const SnakeRules& rules) {
  EnvSpec spec{.name = "snake",
               .actions = rules.absolute ? 4 : 3,
               .max_steps = rules.timeout_ends ? 0 : rules.max_steps,
               .about = "eat and grow without hitting a wall or yourself (Snake-RL's game)",
               .measures = {"score", "wall", "self", "entrapment", "timeout", "won"}};
  int parts = 0;
  const auto add = [&](ObsPart part) {
    spec.parts[parts++] = part;
    spec.obs += part.size();
  };
  if (rules.is_grid()) {
    add({"grid", {rules.grid, rules.grid, 3}});  // row, column, {head, rest of the body, food}
    return spec;
  }
  add({"danger", {3}});                    // blocked: straight, left, right
  add({"food", {4}});                      // up, right, down, left of the head
  add({"heading", {3}});                   // up, right, down; none of them = left
  if (rules.obs == SnakeObs::lookahead) {  // after a move straight, right, left: see docs
    add({"room", {3}});
    add({"tail_after", {3}});
    add({"food_after", {3}});
    add({"length", {1}});
    return spec;
  }
  if (rules.obs != SnakeObs::basic) add({"flood", {3}});      // straight, right, left
  if (rules.obs == SnakeObs::enhanced) add({"escape", {3}});  // straight, right, left
  if (rules.has_tail()) add({"tail", {5}});  // up, right, down, left of the head; reachable
  if (rules.obs == SnakeObs::enhanced) add({"extent", {2}});  // distance to the tail, length
  if (rules.entrapped_flag) add({"entrapped", {1}});
  return spec;
}

}  // namespace hotloop
