// One durotaxis world: a colony of cells on a field, the forest that joins them, and counters.
//
// A step:
//   1. the k leftmost cells are chosen, of equal x the lower index
//   2. all others spawn a child each, in ascending order; children go to the end, joined to their parent
//   3. the chosen ones are deleted; their children pass to their parents, or become roots
//   4. above soft_limit cells, some are marked that ought to be deleted
//   5. an empty colony is set up again, if `recovery` is on
//   6. rewards (reward.cpp), then the end, the first that holds of: more than hard_limit
//      cells, none, one outside the field, the centroid fallen back in `patience` consecutive steps, one at
//      the success line
//
// Cells keep their order and close the gap when one is deleted. As they never move, much need not be stored:
// the field under a cell is known when it is born, standing still is a matter of age, and the cells of
// the state delta_time = 3 steps before the action are those that are old enough.
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

inline constexpr int kDurotaxisLag = 4;  // states between today's and the lagged one

// What one step was rewarded with. Rewards of single cells are summed up.
struct DurotaxisReward {
  double total = 0;
  double graph = 0;  // outside normal mode: the total before what the end adds
  double spawn = 0;
  double deletion = 0;
  double efficiency = 0;
  double edge = 0;
  double centroid = 0;
  double milestone = 0;
  double node = 0;
  double survival = 0;
  double recovery = 0;
  double termination = 0;  // as it is, before scaling
  int cells = 0;           // after the step; not a reward, and not summed

  DurotaxisReward& operator+=(const DurotaxisReward& other);
};

// What cannot be recomputed: this is saved, with the cells.
struct DurotaxisState {
  DurotaxisField field{};
  DurotaxisReward latest{};
  DurotaxisReward sums{};                  // over the episode
  DurotaxisAction actions{0, 0, 0, 0, 0};  // their sums over the episode
  std::int32_t steps = 0;
  std::int32_t count = 0;
  std::int32_t spawned = 0;     // in the latest step: the last cells
  std::int32_t falls = 0;       // consecutive steps in which the centroid fell back
  std::int32_t calm = 0;        // consecutive steps with a total of at least -5
  std::int32_t milestones = 0;  // reached
  std::int32_t recoveries = 0;
  bool succeeded = false;
};

// What there is for every cell of a world, each [capacity].
struct DurotaxisCells {
  float* x = nullptr;
  float* y = nullptr;
  std::int32_t* parent = nullptr;  // -1 = none
  std::int32_t* since = nullptr;   // number of the first state that has it
  std::uint8_t* grown = nullptr;   // spawned, not set up
  std::uint8_t* marked = nullptr;  // ought to be deleted
  // What follows from the above.
  double* intensity = nullptr;
  std::int32_t* children = nullptr;
  std::uint8_t* boundary = nullptr;  // a vertex of the hull
};

// The colony as a whole; all 0 if it is empty.
struct DurotaxisShape {
  double x = 0, y = 0;  // centroid
  float low_x = 0, low_y = 0, high_x = 0, high_y = 0;
  double hull_area = 0;
  double intensity_sum = 0;
  double max_intensity = 0;
  int edges = 0;
  int max_degree = 0;
};

// What is gone after a step: the cells before it, by index.
using DurotaxisFlags = std::array<std::uint8_t, 2 * kDurotaxisMaxCells>;

struct DurotaxisWorld : DurotaxisState {
  void clear();
  void reset(Rng& rng);
  // Cells of a first state, by hand. `parents` may be empty: then they are a chain from left to right.
  void place(std::span<const float> x, std::span<const float> y,
             std::span<const std::int32_t> parents = {});
  Step step(std::span<const float> action, Rng& rng);
  void observe(float* obs) const;
  void measure(std::span<float> values) const;
  void reward_parts(std::span<float> parts) const;
  void save(std::byte* to) const;
  void restore(const std::byte* from);
  static std::size_t saved_bytes(const DurotaxisRules& rules);

  // The age that is shown after `steps` steps: the first step of a cell's life makes it 1, its birth
  // counts as one if it was spawned.
  int age(int cell) const { return steps - cells.since[cell] + cells.grown[cell]; }
  // Not near-motionless when first seen, and ever since.
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

// Marks the `count` leftmost of the cells, of equal x the lower index first.
void durotaxis_leftmost(std::span<const float> x, int count, std::uint8_t* chosen);

// What a single cell earns; `lag` is 0 unless it is in the lagged state: then 1 if its intensity
// reaches the mean, else -1.
double durotaxis_cell_reward(const DurotaxisRules& rules, double x, double y, double intensity,
                             bool is_boundary, int lag);
// What a new cell earns, being `gain` stiffer than the nearest one of the state before.
double durotaxis_spawn_reward(const DurotaxisRules& rules, double y, double gain);
// What deleting a cell earns that is old or idle. Neither happens in play: children lie to the right of
// their parents, so after n steps 2^n - 1 cells lie to the right of a cell, and it goes before them.
double durotaxis_efficiency(int age, int stagnation);
double durotaxis_growth_penalty(const DurotaxisRules& rules, int cells);
double durotaxis_survival(const DurotaxisRules& rules, int steps);

}  // namespace hotloop
