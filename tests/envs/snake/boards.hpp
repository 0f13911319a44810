// Helpers for the tests of Snake: boards made from options as text, stepped one at a time.
#pragma once

#include <array>
#include <vector>

#include "env/options.hpp"
#include "env/registry.hpp"
#include "envs/snake/snake.hpp"

namespace hotloop {

inline std::vector<double> snake_values(const EnvOptions& options) {
  return option_values(find_env("snake"), options);
}

inline SnakeRules snake_rules_of(const EnvOptions& options) {
  return snake_rules(snake_values(options));
}

// One board.
struct OneSnake {
  SnakeArray array;
  std::uint64_t steps = 0;
  std::uint64_t seed = 11;

  explicit OneSnake(const EnvOptions& options) : array(1, snake_rules_of(options)) {}

  void place(std::vector<Cell> body, int direction, Cell food) {
    array.place(0, body, direction, food);
  }
  Step step(int action) {
    std::array<std::int32_t, 1> actions = {action};
    std::array<float, 1> reward;
    std::array<std::uint8_t, 1> terminated;
    array.step(0, 1, actions, seed, Purpose::test, ++steps, reward, terminated);
    return {reward[0], terminated[0] != 0};
  }
  std::vector<float> observe() const {
    std::vector<float> obs(array.spec().obs);
    array.observe(0, 1, obs);
    return obs;
  }
  float measure(std::string_view name) const {
    std::array<float, kMaxMeasures> values{};
    array.measure(0, values);
    for (int i = 0; i < array.spec().measure_count(); ++i) {
      if (array.spec().measures[i] == name) return values[i];
    }
    return -1;
  }
  std::vector<Cell> body() const {
    std::vector<Cell> cells;
    for (int i = 0; i < array.length(0); ++i) cells.push_back(array.segment(0, i));
    return cells;
  }
};

}  // namespace hotloop
