#include "envs/durotaxis/world.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include "envs/durotaxis/hull.hpp"

namespace hotloop {
namespace {

// Cells to mark for deletion, as a share of those above the soft limit.
constexpr double kMarkedShare = 0.15;

constexpr double kRecoveryRadius = 10;
constexpr double kRecoveryJitter = 1.5;
constexpr double kRecoverySpread = 2.5;  // std, for a single cell

using Keys = std::array<std::uint64_t, 2 * kDurotaxisMaxCells>;

// The low half of a key is an index: keys with equal x sort by index.
int index_of(std::uint64_t key) { return static_cast<int>(key & 0xFFFFFFFFu); }

}  // namespace

void durotaxis_leftmost(std::span<const float> x, int count, std::uint8_t* chosen) {
  const int n = static_cast<int>(x.size());
  std::fill_n(chosen, n, std::uint8_t{0});
  if (count <= 0) return;
  Keys keys;
  for (int i = 0; i < n; ++i) keys[i] = sortable(x[i]) << 32 | static_cast<std::uint64_t>(i);
  if (count < n) std::nth_element(keys.begin(), keys.begin() + count, keys.begin() + n);
  for (int i = 0; i < count; ++i) chosen[index_of(keys[i])] = 1;
}

void DurotaxisWorld::clear() {
  static_cast<DurotaxisState&>(*this) = {};
  field = rules->field();
  shape = {};
}

void DurotaxisWorld::reset(Rng& rng) {
  clear();
  if (rules->substrate == DurotaxisSubstrate::random) {
    field.exponential = rng.below(2) == 1;
    field.slope = rng.uniform(0.01, field.exponential ? 0.05 : 0.1);
    field.offset = rng.uniform(0.5, field.exponential ? 1.5 : 2.0);
  }
  for (int i = 0; i < rules->cells; ++i) {
    const double x = rng.uniform(0, 0.1 * rules->width);
    const double y = rng.uniform(0.4 * rules->height, 0.6 * rules->height);
    add(x, y, false);
  }
  join_chain();
  find_shape();
}

void DurotaxisWorld::place(std::span<const float> x, std::span<const float> y,
                           std::span<const std::int32_t> parents) {
  assert(x.size() <= static_cast<std::size_t>(rules->hard_limit));
  clear();
  for (std::size_t i = 0; i < x.size(); ++i) add(x[i], y[i], false);
  join_chain();
  std::copy(parents.begin(), parents.end(), cells.parent);
  find_shape();
}

// The caller sets the parent.
void DurotaxisWorld::add(double x, double y, bool is_grown) {
  assert(count < rules->capacity());
  cells.x[count] = static_cast<float>(x);
  cells.y[count] = static_cast<float>(y);
  cells.intensity[count] = field.at(cells.x[count], rules->width);
  cells.since[count] = steps;
  cells.grown[count] = is_grown;
  cells.marked[count] = 0;
  ++count;
}

void DurotaxisWorld::join_chain() {
  Keys keys;
  for (int i = 0; i < count; ++i) {
    keys[i] = sortable(cells.x[i]) << 32 | static_cast<std::uint64_t>(i);
  }
  std::sort(keys.begin(), keys.begin() + count);
  int left = -1;
  for (int i = 0; i < count; ++i) {
    cells.parent[index_of(keys[i])] = left;
    left = index_of(keys[i]);
  }
}

Step DurotaxisWorld::step(std::span<const float> given, Rng& rng) {
  ++steps;
  const DurotaxisAction action = rules->clip(given);
  actions.ratio += action.ratio;
  actions.gamma += action.gamma;
  actions.alpha += action.alpha;
  actions.noise += action.noise;
  actions.theta += action.theta;
  const int before = count;
  const double x_before = shape.x;
  const double y_before = shape.y;

  const int chosen = std::clamp(static_cast<int>(action.ratio * count), 0, count);
  DurotaxisFlags gone;
  durotaxis_leftmost({cells.x, static_cast<std::size_t>(count)}, chosen, gone.data());
  spawn(action, before, gone);

  DurotaxisReward reward;
  if (rules->reward == DurotaxisMode::normal) reward.spawn = rate_spawning(before);
  if (rules->reward != DurotaxisMode::distance) rate_deleting(before, gone, reward);
  remove(gone);
  find_shape();
  mark();
  if (count == 0 && rules->recovery && recoveries < rules->recovery_attempts) {
    ++recoveries;
    recover(x_before, y_before, rng);
    reward.recovery = -50;
  }
  rate(before, x_before, reward);
  falls = shape.x < x_before ? falls + 1 : 0;
  bool is_over = false;
  reward.termination = end(is_over);
  if (is_over && (rules->reward == DurotaxisMode::normal || rules->include_termination)) {
    const bool is_raw =
        rules->reward == DurotaxisMode::normal || rules->reward == DurotaxisMode::deletion;
    const double clip = rules->terminal_clip;
    reward.total += is_raw ? reward.termination
                           : std::clamp(rules->terminal_scale * reward.termination, -clip, clip);
  }
  if (rules->bonus) reward.total += rate_length(before);
  calm = reward.total >= -5 ? calm + 1 : 0;
  reward.cells = count;
  latest = reward;
  sums += reward;
  return {static_cast<float>(reward.total), is_over};
}

void DurotaxisWorld::spawn(const DurotaxisAction& action, int before, const DurotaxisFlags& gone) {
  const double right = std::cos(action.theta);
  const double up = std::sin(action.theta);
  const double margin_x = rules->margin_x();
  const double margin_y = rules->margin_y();
  for (int i = 0; i < before; ++i) {
    // Only a colony that is stepped after its end, with more than hard_limit cells, gets that large.
    if (gone[i] || count == rules->capacity()) continue;
    const double r = action.distance(cells.intensity[i]);
    cells.parent[count] = i;
    add(std::clamp(cells.x[i] + r * right, margin_x, rules->width - margin_x),
        std::clamp(cells.y[i] + r * up, margin_y, rules->height - margin_y), true);
  }
  spawned = count - before;
}

// Removes the deleted cells of the previous state from the forest. Deleting them one by one would
// give each child of a cell to that cell's parent, and finally to the nearest ancestor that stays.
void DurotaxisWorld::remove(const DurotaxisFlags& gone) {
  const int before = count - spawned;
  std::array<std::int32_t, 2 * kDurotaxisMaxCells> place;  // new index of a cell that stays
  int kept = 0;
  for (int i = 0; i < before; ++i) {
    place[i] = kept;
    kept += !gone[i];
  }
  std::iota(&place[before], &place[0] + count, kept);
  const DurotaxisCells to = cells;  // a local copy: byte writes cannot alias its pointers
  const int all = count;
  for (int i = 0; i < before; ++i) {
    if (gone[i]) continue;
    int parent = to.parent[i];
    while (parent >= 0 && gone[parent]) parent = to.parent[parent];
    to.parent[i] = parent;
  }
  for (int i = 0; i < all; ++i) {
    if (i < before && gone[i]) continue;
    const int at = place[i];
    const int parent = to.parent[i];
    to.parent[at] = parent < 0 ? -1 : place[parent];
    to.x[at] = to.x[i];
    to.y[at] = to.y[i];
    to.intensity[at] = to.intensity[i];
    to.since[at] = to.since[i];
    to.grown[at] = to.grown[i];
    to.marked[at] = to.marked[i];
  }
  count = kept + spawned;
}

void DurotaxisWorld::find_shape() {
  shape = {};
  if (count == 0) return;
  std::fill_n(cells.children, count, 0);
  shape.low_x = shape.high_x = cells.x[0];
  shape.low_y = shape.high_y = cells.y[0];
  for (int i = 0; i < count; ++i) {
    const float x = cells.x[i];
    const float y = cells.y[i];
    shape.x += x;
    shape.y += y;
    shape.low_x = std::min(shape.low_x, x);
    shape.low_y = std::min(shape.low_y, y);
    shape.high_x = std::max(shape.high_x, x);
    shape.high_y = std::max(shape.high_y, y);
    shape.intensity_sum += cells.intensity[i];
    shape.max_intensity = std::max(shape.max_intensity, cells.intensity[i]);
    if (cells.parent[i] >= 0) {
      ++shape.edges;
      ++cells.children[cells.parent[i]];
    }
  }
  shape.x /= count;
  shape.y /= count;
  shape.max_degree = *std::max_element(cells.children, cells.children + count);
  find_boundary();
}

// One or two cells are all at the boundary. If all cells lie on a line there is no hull. Then the
// leftmost, rightmost, lowest and highest cells are at the boundary, the first of each.
void DurotaxisWorld::find_boundary() {
  std::fill_n(cells.boundary, count, static_cast<std::uint8_t>(count < 3));
  if (count < 3) return;
  const auto n = static_cast<std::size_t>(count);
  std::array<std::int32_t, 2 * kDurotaxisMaxCells> vertices;
  const Hull hull = convex_hull({cells.x, n}, {cells.y, n}, vertices);
  shape.hull_area = hull.area;
  if (hull.count > 2) {
    for (int i = 0; i < hull.count; ++i) cells.boundary[vertices[i]] = 1;
    return;
  }
  for (const float* axis : {cells.x, cells.y}) {
    cells.boundary[std::min_element(axis, axis + count) - axis] = 1;
    cells.boundary[std::max_element(axis, axis + count) - axis] = 1;
  }
}

// Marks the rightmost of the cells of the lagged state that are below the current mean intensity,
// for equal x the lower index first.
void DurotaxisWorld::mark() {
  if (count <= rules->soft_limit) return;
  const double mean = mean_intensity();
  Keys keys;
  int found = 0;
  for (int i = 0; i < count; ++i) {
    if (!is_lagged(i) || !(cells.intensity[i] < mean)) continue;
    keys[found++] = (~sortable(cells.x[i]) & 0xFFFFFFFFu) << 32 | static_cast<std::uint64_t>(i);
  }
  const int wanted = std::max(1, static_cast<int>(kMarkedShare * (count - rules->soft_limit)));
  const int marks = std::min(wanted, found);
  if (marks < found) std::nth_element(keys.begin(), keys.begin() + marks, keys.begin() + found);
  for (int i = 0; i < marks; ++i) cells.marked[index_of(keys[i])] = 1;
}

// A ring of cells around the previous centroid. Their age counts from here. There is no lagged
// state until it contains them.
void DurotaxisWorld::recover(double x, double y, Rng& rng) {
  const int n = rules->recovery_cells;
  for (int i = 0; i < n; ++i) {
    double right = 0, up = 0;
    if (n == 1) {
      right = kRecoverySpread * rng.normal();
      up = kRecoverySpread * rng.normal();
    } else {
      const double angle = 2 * std::numbers::pi * i / n;
      right = kRecoveryRadius * std::cos(angle) + rng.uniform(-kRecoveryJitter, kRecoveryJitter);
      up = kRecoveryRadius * std::sin(angle) + rng.uniform(-kRecoveryJitter, kRecoveryJitter);
    }
    add(std::clamp(x + right, 0.0, rules->width - 1.0),
        std::clamp(y + up, 0.0, rules->height - 1.0), false);
  }
  join_chain();
  find_shape();
}

// Returns the termination reward before scaling.
double DurotaxisWorld::end(bool& is_over) {
  is_over = true;
  if (count > rules->hard_limit) return -15;
  if (count == 0) return -100;
  const bool is_inside = shape.low_x >= 0 && shape.high_x < static_cast<float>(rules->width) &&
                         shape.low_y >= 0 && shape.high_y < static_cast<float>(rules->height);
  if (!is_inside) return -100;
  if (falls >= rules->patience) return -50;
  if (shape.high_x >= rules->success_line()) {
    succeeded = true;
    return 500;
  }
  is_over = false;
  return 0;
}

void DurotaxisWorld::measure(std::span<float> values) const {
  const auto progress = std::clamp(shape.x / rules->goal(), 0.0, 1.0);
  const double all[] = {succeeded ? 1.0 : 0.0,
                        progress,
                        shape.x,
                        static_cast<double>(count),
                        sums.graph,
                        sums.spawn,
                        sums.deletion,
                        sums.efficiency,
                        sums.edge,
                        sums.centroid,
                        sums.milestone,
                        sums.node,
                        sums.survival,
                        sums.recovery,
                        sums.termination,
                        sums.cells > 0 ? sums.node / sums.cells : 0.0,
                        actions.ratio / steps,
                        actions.gamma / steps,
                        actions.alpha / steps,
                        actions.noise / steps,
                        actions.theta / steps};
  std::transform(std::begin(all), std::end(all), values.begin(),
                 [](double value) { return static_cast<float>(value); });
}

void DurotaxisWorld::reward_parts(std::span<float> parts) const {
  const double all[] = {latest.graph, latest.spawn, latest.deletion, latest.edge, latest.node};
  std::transform(std::begin(all), std::end(all), parts.begin(),
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace hotloop
