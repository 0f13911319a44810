// The options of Snake, and the rules that follow from them.
//
// The game follows Snake-RL, a public trainer whose environment has five quirks. They are off
// unless `faithful` or their own option turns them on:
//   food_under_head  new food avoids the body as it was before the move, so it may appear under the
//                    head; at most 100 tries, then one fixed cell, free or not
//   lethal_tail      entering the cell that the tail is about to leave kills
//   post_turn_trap   a death counts as entrapment if the cells ahead, left and right *after* the
//                    turn are blocked; if the snake turned, one of them is the neck
//   timeout_ends     the step limit ends the episode as if the snake had died
//   zero_flood       the flood columns of selective and enhanced observations stay 0
#pragma once

#include <hotloop/env.hpp>

#include <span>

namespace hotloop {

enum class SnakeObs { basic, flood, selective, enhanced, grid, lookahead };

struct SnakeRules {
  int grid = 10;  // G: the board has G x G cells
  SnakeObs obs = SnakeObs::basic;
  bool absolute = false;  // actions: up, right, down, left; otherwise straight, left, right
  int max_steps = 1000;

  bool food_under_head = false;
  bool lethal_tail = false;
  bool post_turn_trap = false;
  bool timeout_ends = false;
  bool zero_flood = false;

  double food_reward = 10;
  double death_reward = -10;
  double step_reward = -0.01;
  double shaping = 0.5;       // an ordinary step adds shaping (d before - d after) / G
  double timeout_reward = 0;  // always added to the reward of step number max_steps

  // The snake is softly entrapped if no flood value reaches the threshold.
  bool soft_entrapment = false;
  double soft_threshold = 0.3;
  double soft_step_reward = 0.02;
  double soft_food_reward = -5;
  bool entrapped_flag = false;  // one more observation value

  bool queue_fill = false;  // count reachable cells with a queue: slower, same numbers

  bool needs_flood() const {
    return entrapped_flag || obs == SnakeObs::flood || obs == SnakeObs::selective ||
           obs == SnakeObs::enhanced;
  }
  bool has_tail() const { return obs == SnakeObs::selective || obs == SnakeObs::enhanced; }
  bool is_grid() const { return obs == SnakeObs::grid; }
};

std::span<const EnvOption> snake_options();

// `values` has one number per option, or is empty for the defaults. Throws UsageError if two
// options contradict each other.
SnakeRules snake_rules(std::span<const double> values);

EnvSpec snake_spec(const SnakeRules& rules);

}  // namespace hotloop
