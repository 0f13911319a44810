// One durotaxis world: a colony of cells on a field, the forest that joins them, and counters.
//
// A step:
//   1. the k leftmost cells are chosen, for equal x the lower index
//   2. all others spawn a child each, in ascending order; children are appended, joined to their
//      parent
//   3. the chosen cells are deleted; their children pass to their parents, or become roots
//   4. above soft_limit cells, some are marked for deletion
//   5. an empty colony is set up again, if `recovery` is on
//   6. rewards (reward.cpp), then the end, by the first condition that holds: more than hard_limit
//      cells, no cell, a cell outside the field, the centroid fell back in `patience` consecutive
//      steps, a cell at the success line
//
// Cells keep their order and close the gap when one is deleted. Cells never move, so much need not
// be stored: the field under a cell is known at its birth, stagnation follows from age, and the
// cells of the state delta_time = 3 steps before the action are those that are old enough.
//
// Invariants: every cell has at most one parent, and following parents ends at a root; cells are in
// the order of their birth, so only cells set up together can have a parent of higher index.
#pragma once

#include <hotloop/env.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "envs/durotaxis/rules.hpp"

namespace hotloop {

inline constexpr int kDurotaxisLag = 4;  // states from the lagged to the current one

// The reward of one step, by component. Rewards of single cells are summed.
struct DurotaxisReward {
  double total = 0;
  double graph = 0;  // outside normal mode: total without recovery and the end
  double spawn = 0;
  double deletion = 0;
  double efficiency = 0;
  double edge = 0;
  double centroid = 0;
  double milestone = 0;
  double node = 0;
  double survival = 0;
  double recovery = 0;
  double termination = 0;  // before scaling
  int cells = 0;           // after the step; not a reward. In a sum: the rewarded cells

  DurotaxisReward& operator+=(const DurotaxisReward& other);
};

// The state that cannot be recomputed. It is saved, with the cells.
struct DurotaxisState {
  DurotaxisField field{};
  DurotaxisReward latest{};
  DurotaxisReward sums{};                  // over the episode
  DurotaxisAction actions{0, 0, 0, 0, 0};  // sums over the episode
  std::int32_t steps = 0;
  std::int32_t count = 0;
  std::int32_t spawned = 0;     // in the latest step: the last cells
  std::int32_t falls = 0;       // consecutive steps in which the centroid fell back
  std::int32_t calm = 0;        // consecutive steps with a total of at least -5
  std::int32_t milestones = 0;  // reached
  std::int32_t recoveries = 0;
  bool succeeded = false;
};

// The cells of a world, each array [capacity].
struct DurotaxisCells {
  float* x = nullptr;
  float* y = nullptr;
  std::int32_t* parent = nullptr;  // -1 = none
  std::int32_t* since = nullptr;   // number of the first state with this cell
  std::uint8_t* grown = nullptr;   // spawned in a step; 0 if set up
  std::uint8_t* marked = nullptr;  // for deletion
  // Derived from the above.
  double* intensity = nullptr;
  std::int32_t* children = nullptr;
  std::uint8_t* boundary = nullptr;  // a vertex of the hull
};

// The colony as a whole. All 0 if it is empty.
struct DurotaxisShape {
  double x = 0, y = 0;  // centroid
  float low_x = 0, low_y = 0, high_x = 0, high_y = 0;
  double hull_area = 0;
  double intensity_sum = 0;
  double max_intensity = 0;
  int edges = 0;
  int max_degree = 0;
};

// Which cells a step deletes, by their index before it.
using DurotaxisFlags = std::array<std::uint8_t, 2 * kDurotaxisMaxCells>;

struct DurotaxisWorld : DurotaxisState {
  void clear();
  void reset(Rng& rng);
  // Sets up a first state by hand. Without `parents` the cells are a chain from left to right.
  void place(std::span<const float> x, std::span<const float> y,
             std::span<const std::int32_t> parents = {});
  Step step(std::span<const float> action, Rng& rng);
  void observe(float* obs) const;
  void measure(std::span<float> values) const;
  void reward_parts(std::span<float> parts) const;
  void save(std::byte* to) const;
  bool restore(const std::byte* from);  // false if the bytes are not a saved world
  static std::size_t saved_bytes(const DurotaxisRules& rules);

  // The age after `steps` steps. The first step of a cell's life makes it 1. For spawned cells,
  // birth counts as a step.
  int age(int cell) const { return steps - cells.since[cell] + cells.grown[cell]; }
  // Cells never move: they are stagnant in every step except the first.
  static int stagnation(int age) { return age > 0 ? age - 1 : 0; }
  bool is_lagged(int cell) const { return cells.since[cell] <= steps - kDurotaxisLag; }
  double mean_intensity() const { return count > 0 ? shape.intensity_sum / count : 0; }

  const DurotaxisRules* rules = nullptr;
  DurotaxisCells cells;
  DurotaxisShape shape;

 private:
  void add(double x, double y, bool is_grown);
  void join_chain();
  void spawn(const DurotaxisAction& action, int before, const DurotaxisFlags& gone);
  void remove(const DurotaxisFlags& gone);
  void find_shape();
  void find_boundary();
  void mark();
  void recover(double x, double y, Rng& rng);

  // Rewards; `before` is the number of cells before the step.
  double rate_spawning(int before) const;
  void rate_deleting(int before, const DurotaxisFlags& gone, DurotaxisReward& reward) const;
  double rate_edges() const;
  double rate_cells() const;
  double rate_milestones();
  double rate_distance(double x_before) const;
  double rate_size() const;
  double rate_length(int before) const;
  void rate(int before, double x_before, DurotaxisReward& reward);
  double end(bool& is_over);
};

// Marks the `count` leftmost cells, for equal x the lower index first.
void durotaxis_leftmost(std::span<const float> x, int count, std::uint8_t* chosen);

// The reward of a single cell. `lag` is 0 unless the cell is in the lagged state: then 1 if its
// intensity reaches the mean, else -1.
double durotaxis_cell_reward(const DurotaxisRules& rules, double x, double y, double intensity,
                             bool is_boundary, int lag);
// The reward of a new cell whose intensity is `gain` above that of the nearest previous cell.
double durotaxis_spawn_reward(const DurotaxisRules& rules, double y, double gain);
// The reward for deleting an old or stagnant cell. This does not happen in play: children lie to
// the right of their parents, so after n steps 2^n - 1 cells lie to the right of a cell, and it is
// deleted before them.
double durotaxis_efficiency(int age, int stagnation);
double durotaxis_growth_penalty(const DurotaxisRules& rules, int cells);
double durotaxis_survival(const DurotaxisRules& rules, int steps);

}  // namespace hotloop
