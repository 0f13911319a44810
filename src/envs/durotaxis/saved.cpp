// The saved form of a durotaxis world, and whether bytes from a file are one. The invariants of
// world.hpp are checked, because steps rely on them: parents are indices, and following them must
// end.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "envs/durotaxis/world.hpp"

namespace hotloop {
namespace {

struct SavedCell {
  float x, y;
  std::int32_t parent;
  std::int32_t since;
  std::int32_t grown;
  std::int32_t marked;
};

constexpr std::int32_t kMaxCounter = 1 << 30;  // what a step adds cannot overflow

template <class T>
bool is_within(T value, T low, T high) {
  return value >= low && value <= high;  // false for NaN
}

bool is_reward(const DurotaxisReward& r) {
  const double all[] = {r.total,    r.graph,     r.spawn, r.deletion, r.efficiency, r.edge,
                        r.centroid, r.milestone, r.node,  r.survival, r.recovery,   r.termination};
  return is_within(r.cells, 0, kMaxCounter) &&
         std::all_of(std::begin(all), std::end(all), [](double v) { return std::isfinite(v); });
}

bool is_field(const DurotaxisField& field, const DurotaxisRules& rules) {
  if (byte_of(field.exponential) > 1) return false;
  const DurotaxisField own = rules.field();
  if (field.exponential == own.exponential && field.slope == own.slope &&
      field.offset == own.offset) {
    return true;
  }
  return rules.substrate == DurotaxisSubstrate::random && is_within(field.slope, 0.0, 0.1) &&
         is_within(field.offset, 0.0, 2.0);
}

bool is_state(const DurotaxisState& s, const DurotaxisRules& rules) {
  const DurotaxisAction& a = s.actions;
  for (const double sum : {a.ratio, a.gamma, a.alpha, a.noise, a.theta}) {
    if (!std::isfinite(sum)) return false;
  }
  for (const std::int32_t counter : {s.steps, s.falls, s.calm, s.recoveries}) {
    if (!is_within(counter, 0, kMaxCounter)) return false;
  }
  return is_field(s.field, rules) && is_reward(s.latest) && is_reward(s.sums) &&
         is_within(s.count, 0, rules.capacity()) && is_within(s.spawned, 0, s.count) &&
         is_within(s.milestones, 0, 4) && byte_of(s.succeeded) <= 1;
}

// Cells on or near the field. Only the first hard_limit cells, which can have been set up together,
// may have a parent of higher index, and it is one of them.
bool are_cells(std::span<const SavedCell> cells, int steps, const DurotaxisRules& rules) {
  constexpr float kFar = 1e6f;
  const auto count = static_cast<std::int32_t>(cells.size());
  for (std::int32_t i = 0; i < count; ++i) {
    const SavedCell& cell = cells[i];
    const std::int32_t parents = i < rules.hard_limit ? std::min(count, rules.hard_limit) : i;
    if (!is_within(cell.x, -kFar, kFar) || !is_within(cell.y, -kFar, kFar) ||
        !is_within(cell.parent, -1, parents - 1) || !is_within(cell.since, 0, steps) ||
        !is_within(cell.grown, 0, 1) || !is_within(cell.marked, 0, 1)) {
      return false;
    }
  }
  return true;
}

// Whether following parents always ends at a root. Each cell is followed once: `walks` notes the
// walk in which it was passed.
bool is_forest(std::span<const SavedCell> cells) {
  std::vector<std::int32_t> walks(cells.size(), -1);
  for (std::int32_t walk = 0; walk < static_cast<std::int32_t>(cells.size()); ++walk) {
    std::int32_t at = walk;
    for (; at >= 0 && walks[at] < 0; at = cells[at].parent) walks[at] = walk;
    if (at >= 0 && walks[at] == walk) return false;
  }
  return true;
}

}  // namespace

std::size_t DurotaxisWorld::saved_bytes(const DurotaxisRules& rules) {
  return sizeof(DurotaxisState) + sizeof(SavedCell) * static_cast<std::size_t>(rules.capacity());
}

// The state, then the cells, then zeros.
void DurotaxisWorld::save(std::byte* to) const {
  std::byte* end_of_row = to + saved_bytes(*rules);
  detail::save_world<DurotaxisState>(*this, to);
  to += sizeof(DurotaxisState);
  for (int i = 0; i < count; ++i, to += sizeof(SavedCell)) {
    const SavedCell cell{cells.x[i],     cells.y[i],     cells.parent[i],
                         cells.since[i], cells.grown[i], cells.marked[i]};
    std::memcpy(to, &cell, sizeof(cell));
  }
  std::fill(to, end_of_row, std::byte{0});
}

bool DurotaxisWorld::restore(const std::byte* from) {
  DurotaxisState state;
  std::memcpy(static_cast<void*>(&state), from, sizeof(state));
  if (!is_state(state, *rules)) return false;
  std::vector<SavedCell> saved(static_cast<std::size_t>(state.count));
  if (!saved.empty()) {
    std::memcpy(saved.data(), from + sizeof(state), saved.size() * sizeof(SavedCell));
  }
  if (!are_cells(saved, state.steps, *rules) || !is_forest(saved)) return false;

  static_cast<DurotaxisState&>(*this) = state;
  for (int i = 0; i < count; ++i) {
    const SavedCell& cell = saved[i];
    cells.x[i] = cell.x;
    cells.y[i] = cell.y;
    cells.parent[i] = cell.parent;
    cells.since[i] = cell.since;
    cells.grown[i] = static_cast<std::uint8_t>(cell.grown);
    cells.marked[i] = static_cast<std::uint8_t>(cell.marked);
    cells.intensity[i] = field.at(cell.x, rules->width);
  }
  find_shape();
  return true;
}

}  // namespace hotloop
