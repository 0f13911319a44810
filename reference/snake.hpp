// The slow twin of src/envs/snake: one board as a list of cells, a queue for each flood fill, each
// rule and each feature written separately. It makes the same random draws.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <optional>
#include <vector>

#include "envs/snake/snake.hpp"

namespace hotloop::reference {

// Breadth first from `from`. Returns the number of cells reached, or nullopt if `goal` was not.
inline std::optional<int> queue_fill(const std::vector<std::uint8_t>& blocked, int grid, Cell from,
                                     std::optional<Cell> goal = {}) {
  std::vector<std::uint8_t> seen(blocked.size());
  std::deque<Cell> queue = {from};
  seen[from.y * grid + from.x] = 1;
  int count = 0;
  while (!queue.empty()) {
    const Cell cell = queue.front();
    queue.pop_front();
    ++count;
    if (goal && cell == *goal) return count;
    for (const auto [dx, dy] : {Cell{0, -1}, Cell{1, 0}, Cell{0, 1}, Cell{-1, 0}}) {
      const Cell next{cell.x + dx, cell.y + dy};
      if (next.x < 0 || next.y < 0 || next.x >= grid || next.y >= grid) continue;
      const int at = next.y * grid + next.x;
      if (blocked[at] || seen[at]) continue;
      seen[at] = 1;
      queue.push_back(next);
    }
  }
  return goal ? std::nullopt : std::optional(count);
}

struct Snake {
  SnakeRules rules;
  std::vector<Cell> body;  // head first
  int direction = 1;
  Cell food;
  int steps = 0;
  int score = 0;
  SnakeEnd end = SnakeEnd::none;

  explicit Snake(const SnakeRules& chosen) : rules(chosen) {}

  void reset(Rng& rng) {
    const int c = rules.grid / 2;
    body = {{c, c}, {c - 1, c}, {c - 2, c}};
    direction = 1;
    steps = score = 0;
    end = SnakeEnd::none;
    food = draw_food(rng);
  }

  Step step(int action, Rng& rng) {
    const int before_turn = direction;
    direction = turned(action);
    const Cell head = body.front();
    const Cell next = neighbour(head, direction);
    const bool trapped = is_trapped(rules.post_turn_trap ? direction : before_turn);
    const bool soft = rules.soft_entrapment && is_entrapped();

    float reward = 0;
    bool over = false;
    if (kills(next)) {
      end = trapped ? SnakeEnd::entrapment : outside(next) ? SnakeEnd::wall : SnakeEnd::self;
      reward = static_cast<float>(rules.death_reward);
      over = true;
    } else if (next == food) {
      if (rules.food_under_head) food = draw_food(rng);
      body.insert(body.begin(), next);
      ++score;
      if (!rules.food_under_head) {
        over = static_cast<int>(body.size()) == rules.grid * rules.grid;
        if (over) {
          end = SnakeEnd::won;
        } else {
          food = draw_food(rng);
        }
      }
      reward = static_cast<float>(soft ? rules.soft_food_reward : rules.food_reward);
    } else {
      body.insert(body.begin(), next);
      body.pop_back();
      const double base = soft ? rules.soft_step_reward : rules.step_reward;
      const int gained = distance(head, food) - distance(next, food);
      reward = static_cast<float>(base + rules.shaping * gained / rules.grid);
    }
    ++steps;
    if (steps == rules.max_steps) {
      reward += static_cast<float>(rules.timeout_reward);
      if (!over) end = SnakeEnd::timeout;
      if (rules.timeout_ends) over = true;
    }
    return {reward, over};
  }

  std::vector<float> observe() const {
    if (rules.obs == SnakeObs::grid) return observe_grid();
    std::vector<float> obs;
    const auto add = [&obs](double value) { obs.push_back(static_cast<float>(value)); };
    const auto add_bearing = [&](Cell of) {
      const Cell head = body.front();
      add(of.y < head.y);
      add(of.x > head.x);
      add(of.y > head.y);
      add(of.x < head.x);
    };
    for (const int turn : {0, 3, 1}) add(kills(look(turn)));
    add_bearing(food);
    for (const int heading : {0, 1, 2}) add(direction == heading);
    if (rules.obs == SnakeObs::lookahead) {
      for (const int turn : {0, 1, 3}) obs.push_back(after(look(turn)).room);
      for (const int turn : {0, 1, 3}) add(after(look(turn)).tail);
      for (const int turn : {0, 1, 3}) add(after(look(turn)).food);
      obs.push_back(static_cast<float>(body.size()) / static_cast<float>(rules.grid * rules.grid));
      return obs;
    }
    if (rules.obs != SnakeObs::basic) {
      for (const int turn : {0, 1, 3}) {
        obs.push_back(rules.zero_flood ? 0.0f : flood_ratio(look(turn)));
      }
    }
    if (rules.obs == SnakeObs::enhanced) {
      for (const int turn : {0, 1, 3}) add(escape(look(turn)));
    }
    if (rules.obs == SnakeObs::selective || rules.obs == SnakeObs::enhanced) {
      add_bearing(body.back());
      add(tail_is_reachable());
    }
    if (rules.obs == SnakeObs::enhanced) {
      const auto length = static_cast<float>(body.size());
      obs.push_back(static_cast<float>(distance(body.front(), body.back())) /
                    static_cast<float>(2 * (rules.grid - 1)));
      obs.push_back(length / static_cast<float>(rules.grid * rules.grid));
    }
    if (rules.entrapped_flag) add(is_entrapped());
    return obs;
  }

  std::vector<float> measure() const {
    const auto is = [this](SnakeEnd cause) { return end == cause ? 1.0f : 0.0f; };
    return {static_cast<float>(score), is(SnakeEnd::wall),    is(SnakeEnd::self),
            is(SnakeEnd::entrapment),  is(SnakeEnd::timeout), is(SnakeEnd::won)};
  }

  static int distance(Cell a, Cell b) { return std::abs(a.x - b.x) + std::abs(a.y - b.y); }

  static Cell neighbour(Cell cell, int heading) {
    constexpr int kX[] = {0, 1, 0, -1};
    constexpr int kY[] = {-1, 0, 1, 0};
    return {cell.x + kX[heading], cell.y + kY[heading]};
  }

  Cell look(int turn) const { return neighbour(body.front(), (direction + turn) % 4); }

  int turned(int action) const {
    if (rules.absolute) return (action + 2) % 4 == direction ? direction : action;
    return action == 0 ? direction : action == 1 ? (direction + 3) % 4 : (direction + 1) % 4;
  }

  bool outside(Cell cell) const {
    return cell.x < 0 || cell.y < 0 || cell.x >= rules.grid || cell.y >= rules.grid;
  }
  bool on_body(Cell cell) const { return std::find(body.begin(), body.end(), cell) != body.end(); }
  bool blocked(Cell cell) const { return outside(cell) || on_body(cell); }

  // A blocked cell kills, except for a tail that is leaving it.
  bool kills(Cell cell) const {
    const bool tail_leaves = !rules.lethal_tail && cell == body.back() && cell != food;
    return blocked(cell) && !tail_leaves;
  }

  bool is_trapped(int heading) const {
    for (const int turn : {0, 1, 3}) {
      if (!kills(neighbour(body.front(), (heading + turn) % 4))) return false;
    }
    return true;
  }

  std::vector<std::uint8_t> board() const {
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(rules.grid) * rules.grid);
    for (const Cell cell : body) cells[cell.y * rules.grid + cell.x] = 1;
    return cells;
  }

  float flood_ratio(Cell from) const {
    if (blocked(from)) return 0;
    const int free = rules.grid * rules.grid - static_cast<int>(body.size());
    const int count = *queue_fill(board(), rules.grid, from);
    return std::min(1.0f, static_cast<float>(count) / static_cast<float>(free));
  }

  bool is_entrapped() const {
    const float best = std::max({flood_ratio(look(0)), flood_ratio(look(1)), flood_ratio(look(3))});
    return best < static_cast<float>(rules.soft_threshold);
  }

  double escape(Cell from) const {
    if (blocked(from)) return 0;
    int open = 0;
    for (int heading = 0; heading < 4; ++heading) open += !blocked(neighbour(from, heading));
    return open / 4.0;
  }

  bool tail_is_reachable() const {
    if (body.size() < 2) return true;
    std::vector<std::uint8_t> cells = board();
    cells[body.back().y * rules.grid + body.back().x] = 0;
    return queue_fill(cells, rules.grid, body.front(), body.back()).has_value();
  }

  // The state after a move to `cell`.
  struct After {
    float room = 0;
    bool tail = false;
    bool food = false;
  };
  After after(Cell cell) const {
    if (kills(cell)) return {};
    Snake moved = *this;
    if (cell != food) moved.body.pop_back();
    std::vector<std::uint8_t> cells = moved.board();  // without its head
    const int free = rules.grid * rules.grid - static_cast<int>(body.size());
    const auto count = static_cast<float>(*queue_fill(cells, rules.grid, cell));
    const bool reaches_food = queue_fill(cells, rules.grid, cell, food).has_value();
    const Cell tail = moved.body.back();
    cells[tail.y * rules.grid + tail.x] = 0;
    return {.room = std::min(1.0f, count / static_cast<float>(std::max(free, 1))),
            .tail = queue_fill(cells, rules.grid, cell, tail).has_value(),
            .food = reaches_food};
  }

  std::vector<float> observe_grid() const {
    std::vector<float> obs(static_cast<std::size_t>(rules.grid) * rules.grid * 3);
    const auto at = [&](Cell cell, int channel) -> float& {
      return obs[(cell.y * rules.grid + cell.x) * 3 + channel];
    };
    for (const Cell cell : body) at(cell, 1) = 1;
    at(body.front(), 0) = 1;
    at(body.front(), 1) = 0;
    at(food, 2) = 1;
    return obs;
  }

  Cell draw_food(Rng& rng) const {
    const int grid = rules.grid;
    if (rules.food_under_head) {
      for (int i = 0; i < 100; ++i) {
        const int x = static_cast<int>(rng.below(grid));
        const int y = static_cast<int>(rng.below(grid));
        if (!on_body({x, y})) return {x, y};
      }
      return {grid / 2 + 1, grid / 2 + 1};
    }
    std::vector<Cell> free;
    for (int y = 0; y < grid; ++y) {
      for (int x = 0; x < grid; ++x) {
        if (!on_body({x, y})) free.push_back({x, y});
      }
    }
    return free[rng.below(static_cast<std::uint32_t>(free.size()))];
  }
};

}  // namespace hotloop::reference
