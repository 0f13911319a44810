// The reward of a step of durotaxis, by mode:
//   normal    graph + node + survival + milestone, where graph is
//             size + 0.01 (cells that acted) + centroid + spawn + deletion + efficiency + edge
//   delete    penalties only: growth beyond the soft limit, and the deletion reward if negative
//   distance  5 (x - previous x) / goal, with the centroid's x; in the first step, or always
//             without `delta`, -(goal - x) / goal
//   combined  delete + distance
// All modes add the recovery penalty. Components that a mode does not use are 0.
//
// The original has one more term, 3 dx for the movement of a cell since the previous step. Cells
// never move, so it is 0 when cells are identified correctly, and omitted here.
#include <algorithm>
#include <cmath>

#include "envs/durotaxis/world.hpp"

namespace hotloop {
namespace {

// Distance to the nearer of the lower and the upper edge, as a share of the height.
double edge_distance(const DurotaxisRules& rules, double y) {
  return std::min(y, rules.height - y) / rules.height;
}

}  // namespace

DurotaxisReward& DurotaxisReward::operator+=(const DurotaxisReward& other) {
  total += other.total;
  graph += other.graph;
  spawn += other.spawn;
  deletion += other.deletion;
  efficiency += other.efficiency;
  edge += other.edge;
  centroid += other.centroid;
  milestone += other.milestone;
  node += other.node;
  survival += other.survival;
  recovery += other.recovery;
  termination += other.termination;
  cells += other.cells;
  return *this;
}

double durotaxis_cell_reward(const DurotaxisRules& rules, double x, double y, double intensity,
                             bool is_boundary, int lag) {
  double reward = 0.3 * intensity;
  if (is_boundary) reward += 0.1;
  if (x < 0.1 * rules.width) reward -= 0.2;
  const double d = edge_distance(rules, y);
  if (d < 0.15) reward -= d < 0.03 ? 5.0 : d < 0.08 ? 2.0 : 0.5;
  if (std::abs(y - 0.5 * rules.height) / (0.5 * rules.height) < 0.30) reward += 0.05;
  if (lag != 0) reward += lag < 0 ? -0.3 : 1.5;
  return reward;
}

double durotaxis_spawn_reward(const DurotaxisRules& rules, double y, double gain) {
  const double d = edge_distance(rules, y);
  const double at_edge = d < 0.08 ? -8.0 : d < 0.15 ? -3.0 : 0.0;
  return at_edge + (gain >= 2.5 ? 2.5 : -1.0);
}

double durotaxis_efficiency(int age, int stagnation) {
  const double old = age > 50 ? 0.05 * (age - 50) : 0;
  return old + (stagnation > 20 ? 0.1 * (stagnation - 20) : 0);
}

double durotaxis_growth_penalty(const DurotaxisRules& rules, int cells) {
  if (cells <= rules.soft_limit) return 0;
  return -3.0 * (1 + static_cast<double>(cells - rules.soft_limit) / rules.soft_limit);
}

double durotaxis_survival(const DurotaxisRules& rules, int steps) {
  return (steps >= 100 ? 0.03 : 0.01) * (1 + std::min(steps / (0.8 * rules.max_steps), 1.0));
}

// The previous cells come first, then the new ones: none is deleted yet. Of equally near cells, the
// lower index counts. The inner loop is the one over new cells, so that it vectorises.
double DurotaxisWorld::rate_spawning(int before) const {
  std::array<float, 2 * kDurotaxisMaxCells> least;
  std::array<std::int32_t, 2 * kDurotaxisMaxCells> nearest;
  std::fill_n(least.begin(), spawned, std::numeric_limits<float>::infinity());
  std::fill_n(nearest.begin(), spawned, 0);
  const float* new_x = cells.x + before;
  const float* new_y = cells.y + before;
  for (int j = 0; j < before; ++j) {
    const float x = cells.x[j];
    const float y = cells.y[j];
    for (int i = 0; i < spawned; ++i) {
      const float dx = new_x[i] - x;
      const float dy = new_y[i] - y;
      const float distance = dx * dx + dy * dy;
      const bool is_nearer = distance < least[i];
      least[i] = is_nearer ? distance : least[i];
      nearest[i] = is_nearer ? j : nearest[i];
    }
  }
  double reward = 0;
  for (int i = 0; i < spawned; ++i) {
    const double gain = cells.intensity[before + i] - cells.intensity[nearest[i]];
    reward += durotaxis_spawn_reward(*rules, new_y[i], gain);
  }
  return reward;
}

// For deleting marked cells, and old or stagnant ones. Ages are those before this step.
void DurotaxisWorld::rate_deleting(int before, const DurotaxisFlags& gone,
                                   DurotaxisReward& reward) const {
  for (int i = 0; i < before; ++i) {
    if (gone[i] == 0 && cells.marked[i] == 0) continue;
    reward.deletion += gone[i] && cells.marked[i] ? 2.0 : -2.0;
    if (gone[i] == 0) continue;
    const int age_before = age(i) - 1;
    reward.efficiency += durotaxis_efficiency(age_before, stagnation(age_before));
  }
}

double DurotaxisWorld::rate_edges() const {
  double reward = 0;
  for (int i = 0; i < count; ++i) {
    if (cells.parent[i] < 0) continue;
    const double dx = cells.x[i] - cells.x[cells.parent[i]];
    reward += dx > 0.01 ? 0.5 : dx < -0.01 ? -0.05 : 0;
  }
  return reward;
}

double DurotaxisWorld::rate_cells() const {
  const double mean = mean_intensity();
  double reward = 0;
  for (int i = 0; i < count; ++i) {
    const int lag = !is_lagged(i) ? 0 : cells.intensity[i] < mean ? -1 : 1;
    reward += durotaxis_cell_reward(*rules, cells.x[i], cells.y[i], cells.intensity[i],
                                    cells.boundary[i] != 0, lag);
  }
  return reward;
}

double DurotaxisWorld::rate_milestones() {
  constexpr std::array<double, 4> kParts = {0.25, 0.5, 0.75, 0.9};
  constexpr std::array<double, 4> kRewards = {50, 150, 300, 500};
  double reward = 0;
  while (milestones < 4 && count > 0 && shape.high_x >= kParts[milestones] * rules->width) {
    reward += kRewards[milestones++];
  }
  return reward;
}

double DurotaxisWorld::rate_distance(double x_before) const {
  if (count == 0) return 0;
  const double goal = rules->goal();
  if (steps == 1 || !rules->delta) return -(goal - shape.x) / goal;
  return 5.0 * (shape.x - x_before) / goal;
}

double DurotaxisWorld::rate_size() const {
  if (count < 2) return -5.0;
  return count > rules->soft_limit ? durotaxis_growth_penalty(*rules, count) : 0.1;
}

// The original trainer's bonus, by the number of steps before this one.
double DurotaxisWorld::rate_length(int before) const {
  const int t = steps - 1;
  double bonus = 0;
  if (t >= 10 && t < 0.3 * rules->max_steps) bonus += 2;
  if (t >= 1) bonus += 3;
  if (t >= 3) bonus += 7;
  if (t >= 30 && before <= 10) bonus += 4;
  if (calm >= 5) bonus += 1;
  return bonus;
}

void DurotaxisWorld::rate(int before, double x_before, DurotaxisReward& reward) {
  const DurotaxisMode mode = rules->reward;
  if (mode == DurotaxisMode::normal) {
    const auto penalise = [this](double value) {
      return value < 0 ? rules->penalty_factor * value : value;
    };
    reward.centroid = count > 0 ? 5.0 * (shape.x - x_before) : 0;
    reward.edge = rate_edges();
    reward.graph = penalise(rate_size() + 0.01 * before + reward.centroid + reward.spawn +
                            reward.deletion + reward.efficiency + reward.edge);
    reward.node = penalise(rate_cells());
    reward.survival = durotaxis_survival(*rules, steps);
    reward.milestone = rate_milestones();
    reward.total = reward.graph + reward.node + reward.survival + reward.milestone;
  } else {
    reward.efficiency = 0;
    reward.deletion = std::min(reward.deletion, 0.0);
    const double penalties = durotaxis_growth_penalty(*rules, count) + reward.deletion;
    if (mode == DurotaxisMode::distance) reward.graph = rate_distance(x_before);
    if (mode == DurotaxisMode::deletion) reward.graph = penalties;
    if (mode == DurotaxisMode::combined) reward.graph = rate_distance(x_before) + penalties;
    if (mode == DurotaxisMode::deletion) reward.deletion = 0;
    reward.total = reward.graph;
  }
  reward.total += reward.recovery;
}

}  // namespace hotloop
