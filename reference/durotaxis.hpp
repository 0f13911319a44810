// The slow twin of src/envs/durotaxis: cells are objects with permanent ids, edges are a list of
// pairs of ids. It finds the k leftmost cells with a full stable sort, deletes one by one, and
// keeps the past as snapshots and ages in a table. A hull vertex is an endpoint of a line that has
// all cells on one side. It shares rules and field with the fast world (envs/durotaxis/rules.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "envs/durotaxis/rules.hpp"
#include "reference/convex_hull.hpp"

namespace hotloop::reference {

// Indices of the k smallest values, in order, for equal values the lower index first.
inline std::vector<int> leftmost(const std::vector<float>& x, int k) {
  std::vector<int> order(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return x[a] < x[b]; });
  order.resize(std::clamp<std::size_t>(k, 0, x.size()));
  return order;
}

struct Durotaxis {
  struct Cell {
    int id = 0;
    float x = 0, y = 0;
    bool is_new = false;
    bool marked = false;
  };
  struct Tracker {
    int age = 0;
    bool seen = false;
    float x = 0, y = 0;
    int still = 0;
  };
  using Snapshot = std::map<int, double>;  // intensity by id
  using Record = std::map<std::string, double>;

  DurotaxisRules rules;
  DurotaxisField field;
  std::vector<double> substrate;  // by column
  std::vector<Cell> cells;
  std::vector<std::pair<int, int>> edges;  // ids: from, to
  std::map<int, Tracker> trackers;
  std::map<int, Tracker> shown;  // before the latest step
  std::deque<Snapshot> queue;
  std::optional<Snapshot> lagged;
  std::vector<double> totals;
  std::vector<double> centroids;  // x of the first state, then after each step
  std::array<bool, 4> reached{};
  int next_id = 0;
  int steps = 0;
  int recoveries = 0;
  bool over = false, succeeded = false;
  Record record;

  explicit Durotaxis(const DurotaxisRules& given) : rules(given), field(given.field()) {}

  double intensity(const Cell& cell) const {
    int column = static_cast<int>(cell.x);
    if (column < 0) column = 0;
    if (column >= rules.width) column = rules.width - 1;
    return substrate[column];
  }

  void make_substrate() {
    substrate.clear();
    for (int x = 0; x < rules.width; ++x) {
      substrate.push_back(field.exponential ? field.offset * std::exp(field.slope * x)
                                            : field.slope * x + field.offset);
    }
  }

  void reset(Rng& rng) {
    *this = Durotaxis(rules);
    if (rules.substrate == DurotaxisSubstrate::random) {
      if (rng.below(2) == 0) {
        const double m = rng.uniform(0.01, 0.1);
        field = {false, m, rng.uniform(0.5, 2.0)};
      } else {
        const double m = rng.uniform(0.01, 0.05);
        field = {true, m, rng.uniform(0.5, 1.5)};
      }
    }
    make_substrate();
    for (int i = 0; i < rules.cells; ++i) {
      Cell cell;
      cell.id = next_id++;
      cell.x = static_cast<float>(rng.uniform(0, 0.1 * rules.width));
      cell.y = static_cast<float>(rng.uniform(0.4 * rules.height, 0.6 * rules.height));
      cells.push_back(cell);
    }
    join();
    centroids.push_back(centroid().first);
  }

  void join() {
    std::vector<float> x;
    for (const Cell& cell : cells) x.push_back(cell.x);
    const std::vector<int> order = leftmost(x, static_cast<int>(x.size()));
    for (std::size_t i = 1; i < order.size(); ++i) {
      edges.emplace_back(cells[order[i - 1]].id, cells[order[i]].id);
    }
  }

  std::pair<double, double> centroid() const {
    double x = 0, y = 0;
    for (const Cell& cell : cells) x += cell.x, y += cell.y;
    const double n = static_cast<double>(cells.size());
    return cells.empty() ? std::pair(0.0, 0.0) : std::pair(x / n, y / n);
  }

  double mean_intensity() const {
    double sum = 0;
    for (const Cell& cell : cells) sum += intensity(cell);
    return cells.empty() ? 0 : sum / static_cast<double>(cells.size());
  }

  static const Cell* find(const std::vector<Cell>& among, int id) {
    for (const Cell& cell : among) {
      if (cell.id == id) return &cell;
    }
    return nullptr;
  }

  void remove(int id) {
    std::vector<int> predecessors, successors;
    std::vector<std::pair<int, int>> rest;
    for (const auto& edge : edges) {
      if (edge.second == id) predecessors.push_back(edge.first);
      if (edge.first == id) successors.push_back(edge.second);
      if (edge.first != id && edge.second != id) rest.push_back(edge);
    }
    for (const int from : predecessors) {
      for (const int to : successors) rest.emplace_back(from, to);
    }
    edges = rest;
    cells.erase(
        std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.id == id; }));
  }

  std::vector<bool> boundary() const {
    std::vector<std::pair<float, float>> points;
    for (const Cell& cell : cells) points.emplace_back(cell.x, cell.y);
    std::vector<bool> flags = hull_vertices(points);
    if (points.size() < 3) flags.assign(points.size(), true);
    if (points.empty() || std::count(flags.begin(), flags.end(), true) > 0) return flags;
    std::size_t left = 0, right = 0, low = 0, high = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].first < points[left].first) left = i;
      if (points[i].first > points[right].first) right = i;
      if (points[i].second < points[low].second) low = i;
      if (points[i].second > points[high].second) high = i;
    }
    flags[left] = flags[right] = flags[low] = flags[high] = true;
    return flags;
  }

  double growth() const {
    const double n = static_cast<double>(cells.size());
    return n > rules.soft_limit ? -3.0 * (1 + (n - rules.soft_limit) / rules.soft_limit) : 0;
  }

  Step step(const std::array<float, 5>& given, Rng& rng) {
    ++steps;
    const std::vector<Cell> previous = cells;
    const std::pair<double, double> centre_before = centroid();
    shown = trackers;
    Snapshot now;
    for (const Cell& cell : cells) now[cell.id] = intensity(cell);
    queue.push_back(now);
    lagged.reset();
    if (queue.size() > 3) {
      lagged = queue.front();
      queue.pop_front();
    }

    act(given);
    for (const Cell& cell : cells) track(cell);
    std::erase_if(trackers, [&](const auto& entry) { return !find(cells, entry.first); });
    mark();
    record.clear();
    if (cells.empty() && rules.recovery && recoveries < rules.recovery_attempts) {
      ++recoveries;
      recover(centre_before, rng);
      record["recovery"] = -50;
    }
    centroids.push_back(centroid().first);
    rate(previous, shown);
    end();
    if (rules.bonus) {
      const int t = steps - 1;
      double bonus = 0;
      if (t >= 10 && static_cast<double>(t) / rules.max_steps < 0.3) bonus += 2;
      if (t >= 1) bonus += 3;
      if (t >= 3) bonus += 7;
      if (t >= 30 && previous.size() <= 10) bonus += 4;
      if (totals.size() >= 5 &&
          std::all_of(totals.end() - 5, totals.end(), [](double r) { return r >= -5; })) {
        bonus += 1;
      }
      record["total"] += bonus;
    }
    totals.push_back(record["total"]);
    return {static_cast<float>(record["total"]), over};
  }

  void act(const std::array<float, 5>& given) {
    const float rho = std::clamp(given[0], 0.0f, static_cast<float>(rules.ratio));
    double gamma = 0.5, alpha = 2.0, noise = 0.1, theta = 0;
    if (rules.stage == 2) {
      gamma = std::clamp(given[1], 0.5f, 15.0f);
      alpha = std::clamp(given[2], 0.5f, 4.0f);
      noise = std::clamp(given[3], 0.05f, 0.5f);
      theta = std::clamp(given[4], -0.5236f, 0.5236f);
    }
    std::vector<float> x;
    for (const Cell& cell : cells) x.push_back(cell.x);
    const int k = static_cast<int>(static_cast<double>(rho) * static_cast<double>(x.size()));
    std::vector<bool> chosen(x.size(), false);
    for (const int i : leftmost(x, k)) chosen[i] = true;
    const std::vector<Cell> parents = cells;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (chosen[i]) continue;
      double stiffness = intensity(parents[i]);
      if (!std::isfinite(stiffness) || stiffness <= 1e-6) stiffness = 1;
      const double r = gamma / (1 + (alpha / stiffness) * (alpha / stiffness)) + noise;
      const double margin_x = std::max(2.0, 0.01 * rules.width);
      const double margin_y = std::max(2.0, 0.01 * rules.height);
      const double to_x = parents[i].x + r * std::cos(theta);
      const double to_y = parents[i].y + r * std::sin(theta);
      Cell child;
      child.id = next_id++;
      child.x = static_cast<float>(std::min(std::max(to_x, margin_x), rules.width - margin_x));
      child.y = static_cast<float>(std::min(std::max(to_y, margin_y), rules.height - margin_y));
      child.is_new = true;
      cells.push_back(child);
      edges.emplace_back(parents[i].id, child.id);
    }
    for (Cell& cell : cells) cell.is_new = !find(parents, cell.id);
    for (std::size_t i = parents.size(); i-- > 0;) {
      if (chosen[i]) remove(parents[i].id);
    }
  }

  void track(const Cell& cell) {
    Tracker& tracker = trackers[cell.id];
    ++tracker.age;
    if (tracker.seen && std::hypot(cell.x - tracker.x, cell.y - tracker.y) < 5.0) {
      ++tracker.still;
    } else {
      tracker.seen = true;
      tracker.x = cell.x;
      tracker.y = cell.y;
      tracker.still = 0;
    }
  }

  void mark() {
    const int n = static_cast<int>(cells.size());
    if (n <= rules.soft_limit || !lagged) return;
    const double mean = mean_intensity();
    std::vector<Cell*> candidates;
    for (Cell& cell : cells) {
      if (lagged->count(cell.id) && lagged->at(cell.id) < mean) candidates.push_back(&cell);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Cell* a, const Cell* b) { return a->x > b->x; });
    const int count = static_cast<int>(candidates.size());
    const int marks = std::max(1, std::min(static_cast<int>(0.15 * (n - rules.soft_limit)), count));
    for (int i = 0; i < marks && i < count; ++i) candidates[i]->marked = true;
  }

  void recover(std::pair<double, double> centre, Rng& rng) {
    edges.clear();
    queue.clear();
    for (int i = 0; i < rules.recovery_cells; ++i) {
      double x = centre.first, y = centre.second;
      if (rules.recovery_cells == 1) {
        const double across = rng.normal();
        x += 2.5 * across;
        y += 2.5 * rng.normal();
      } else {
        const double angle = 2 * std::numbers::pi * i / rules.recovery_cells;
        const double across = rng.uniform(-1.5, 1.5);
        x += 10 * std::cos(angle) + across;
        y += 10 * std::sin(angle) + rng.uniform(-1.5, 1.5);
      }
      Cell cell;
      cell.id = next_id++;
      cell.x = static_cast<float>(std::min(std::max(x, 0.0), rules.width - 1.0));
      cell.y = static_cast<float>(std::min(std::max(y, 0.0), rules.height - 1.0));
      cells.push_back(cell);
    }
    join();
  }

  // All components, then their combination by mode.
  void rate(const std::vector<Cell>& previous, const std::map<int, Tracker>& before) {
    const double cx = centroids.back(), cx_before = centroids[centroids.size() - 2];
    const double height = rules.height;
    const auto to_edge = [&](double y) { return std::min(y, height - y) / height; };

    double spawn = 0;
    for (const Cell& cell : cells) {
      if (!cell.is_new) continue;
      const double d = to_edge(cell.y);
      if (d < 0.08) {
        spawn -= 8;
      } else if (d < 0.15) {
        spawn -= 3;
      }
      const auto squared = [&](const Cell& other) {
        const float dx = cell.x - other.x, dy = cell.y - other.y;
        return dx * dx + dy * dy;
      };
      const auto nearest =
          std::min_element(previous.begin(), previous.end(),
                           [&](const Cell& a, const Cell& b) { return squared(a) < squared(b); });
      spawn += intensity(cell) - intensity(*nearest) >= 2.5 ? 2.5 : -1.0;
    }

    double deletion = 0, efficiency = 0;
    for (const Cell& cell : previous) {
      const bool gone = !find(cells, cell.id);
      if (cell.marked) deletion += gone ? 2 : -2;
      if (!cell.marked && gone) deletion -= 2;
      if (!gone) continue;
      const auto tracker = before.find(cell.id);
      const int age = tracker == before.end() ? 0 : tracker->second.age;
      const int still = tracker == before.end() ? 0 : tracker->second.still;
      if (age > 50) efficiency += 0.05 * (age - 50);
      if (still > 20) efficiency += 0.1 * (still - 20);
    }

    double edge = 0;
    for (const auto& [from, to] : edges) {
      const double dx = find(cells, to)->x - find(cells, from)->x;
      if (dx > 0.01) edge += 0.5;
      if (dx < -0.01) edge -= 0.05;
    }

    double node = 0;
    const std::vector<bool> flags = boundary();
    const double mean = mean_intensity();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Cell& cell = cells[i];
      double one = 0.3 * intensity(cell);
      if (flags[i]) one += 0.1;
      if (cell.x < 0.1 * rules.width) one -= 0.2;
      const double d = to_edge(cell.y);
      if (d < 0.03) {
        one -= 5;
      } else if (d < 0.08) {
        one -= 2;
      } else if (d < 0.15) {
        one -= 0.5;
      }
      if (std::abs(cell.y - height / 2) / (height / 2) < 0.3) one += 0.05;
      if (lagged && lagged->count(cell.id)) one += intensity(cell) < mean ? -0.3 : 1.5;
      node += one;
    }

    const double size = cells.size() < 2 ? -5.0 : growth() < 0 ? growth() : 0.1;
    const double move = cells.empty() ? 0 : 5.0 * (cx - cx_before);
    const double goal = rules.width - 1;
    double distance =
        steps == 1 || !rules.delta ? -(goal - cx) / goal : 5.0 * (cx - cx_before) / goal;
    if (cells.empty()) distance = 0;
    const double negative = std::min(deletion, 0.0);
    const auto penalised = [&](double r) { return r < 0 ? r * rules.penalty_factor : r; };

    switch (rules.reward) {
      case DurotaxisMode::normal: {
        constexpr std::array<double, 4> kParts = {0.25, 0.5, 0.75, 0.9},
                                        kPrize = {50, 150, 300, 500};
        double right = 0;
        for (const Cell& cell : cells) right = std::max<double>(right, cell.x);
        for (int i = 0; i < 4; ++i) {
          if (reached[i] || right < kParts[i] * rules.width) continue;
          reached[i] = true;
          record["milestone"] += kPrize[i];
        }
        const double rate = steps >= 100 ? 0.01 + 0.02 : 0.01;
        record["survival"] = rate * (1 + std::min(steps / (0.8 * rules.max_steps), 1.0));
        record["spawn"] = spawn;
        record["delete"] = deletion;
        record["efficiency"] = efficiency;
        record["edge"] = edge;
        record["centroid_reward"] = move;
        record["node"] = penalised(node);
        record["graph"] = penalised(size + 0.01 * static_cast<double>(previous.size()) + move +
                                    spawn + deletion + efficiency + edge);
        record["total"] =
            record["graph"] + record["node"] + record["survival"] + record["milestone"];
        break;
      }
      case DurotaxisMode::deletion:
        record["total"] = record["graph"] = growth() + negative;
        break;
      case DurotaxisMode::distance:
        record["total"] = record["graph"] = distance;
        break;
      case DurotaxisMode::combined:
        record["total"] = record["graph"] = distance + growth() + negative;
        record["delete"] = negative;
        break;
    }
    record["total"] += record["recovery"];
  }

  void end() {
    bool outside = false, there = false;
    for (const Cell& cell : cells) {
      outside |= cell.x < 0 || cell.x >= rules.width || cell.y < 0 || cell.y >= rules.height;
      there |= cell.x >= rules.success_line();
    }
    bool fell = centroids.size() > static_cast<std::size_t>(rules.patience);
    for (int i = 0; fell && i < rules.patience; ++i) {
      fell = centroids[centroids.size() - 1 - i] < centroids[centroids.size() - 2 - i];
    }
    double raw = 0;
    over = true;
    if (cells.size() > static_cast<std::size_t>(rules.hard_limit)) {
      raw = -15;
    } else if (cells.empty() || outside) {
      raw = -100;
    } else if (fell) {
      raw = -50;
    } else if (there) {
      raw = 500;
      succeeded = true;
    } else {
      over = false;
    }
    record["termination"] = raw;
    if (rules.reward == DurotaxisMode::normal) {
      record["total"] += raw;
    } else if (rules.include_termination && rules.reward == DurotaxisMode::deletion) {
      record["total"] += raw;
    } else if (rules.include_termination) {
      record["total"] +=
          std::max(-rules.terminal_clip, std::min(rules.terminal_clip, rules.terminal_scale * raw));
    }
  }

  int degree_in(int id) const {
    return static_cast<int>(
        std::count_if(edges.begin(), edges.end(), [&](const auto& e) { return e.second == id; }));
  }
  int degree_out(int id) const {
    return static_cast<int>(
        std::count_if(edges.begin(), edges.end(), [&](const auto& e) { return e.first == id; }));
  }

  std::vector<float> observe() const {
    const int max_cells = rules.hard_limit;
    const int n = static_cast<int>(cells.size());
    const bool unit = rules.unit;
    const double w = unit ? rules.width : 1, h = unit ? rules.height : 1, m = unit ? max_cells : 1;
    const double tenth = unit ? 0.1 * rules.width : 1, ten = unit ? 10 : 1;
    const auto stiffness = [&](double value, double cells_of_it) {
      if (!unit) return value;
      const double all = rules.max_intensity() * cells_of_it;
      return rules.substrate == DurotaxisSubstrate::linear
                 ? value / all
                 : std::log(1 + value) / std::log(1 + all);
    };
    const auto distance = [](float dx, float dy) { return std::sqrt(dx * dx + dy * dy); };

    std::vector<double> graph(19), nodes(max_cells * 11), links(max_cells * 3),
        parents(max_cells, -2);
    const double e = static_cast<double>(edges.size());
    const auto [cx, cy] = centroid();
    std::vector<std::pair<float, float>> points;
    for (const Cell& cell : cells) points.emplace_back(cell.x, cell.y);
    graph[0] = n / m;
    graph[1] = e / m;
    if (n > 1) graph[2] = e / (n * (n - 1.0));
    graph[3] = cx / w;
    graph[4] = cy / h;
    if (n > 0) {
      float low_x = 1e9f, low_y = 1e9f, high_x = -1e9f, high_y = -1e9f;
      double max_intensity = 0, sum = 0;
      int max_degree = 0;
      for (const Cell& cell : cells) {
        low_x = std::min(low_x, cell.x);
        low_y = std::min(low_y, cell.y);
        high_x = std::max(high_x, cell.x);
        high_y = std::max(high_y, cell.y);
        max_intensity = std::max(max_intensity, intensity(cell));
        sum += intensity(cell);
        max_degree = std::max({max_degree, degree_in(cell.id), degree_out(cell.id)});
      }
      graph[5] = low_x / w;
      graph[6] = low_y / h;
      graph[7] = high_x / w;
      graph[8] = high_y / h;
      graph[9] = (high_x - low_x) / w;
      graph[10] = (high_y - low_y) / h;
      graph[11] = graph[9] * graph[10];
      graph[12] = n < 3 ? 0 : hull_area(points) / (w * h);
      graph[13] = e / n;
      graph[14] = max_degree / ten;
      graph[15] = 2 * e / m;
      graph[16] = stiffness(sum / n, 1);
      graph[17] = stiffness(max_intensity, 1);
      graph[18] = stiffness(sum, max_cells);
    }
    const std::vector<bool> flags = boundary();
    for (int i = 0; i < std::min(n, max_cells); ++i) {
      const Cell& cell = cells[i];
      float sum = 0;
      int others = 0;
      for (const Cell& other : cells) {
        const float d = distance(cell.x - other.x, cell.y - other.y);
        if (!(d > 1e-6f)) continue;
        sum += d;
        ++others;
      }
      double central = others == 0 ? 1 : 1 / (sum / static_cast<float>(others) + 1e-6f);
      if (unit) central = 1 / (1 + 1 / (central * tenth));
      const auto tracker = shown.find(cell.id);
      double* node = &nodes[i * 11];
      node[0] = cell.x / w;
      node[1] = cell.y / h;
      node[2] = stiffness(intensity(cell), 1);
      node[3] = degree_in(cell.id);
      node[4] = degree_out(cell.id) / ten;
      node[5] = central;
      node[6] = distance(cell.x - static_cast<float>(cx), cell.y - static_cast<float>(cy)) / tenth;
      node[7] = flags[i];
      node[8] = cell.is_new;
      node[9] = tracker == shown.end() ? 0 : tracker->second.age / 100.0;
      node[10] = tracker == shown.end() ? 0 : tracker->second.still / 50.0;
      parents[i] = -1;
      for (const auto& [from, to] : edges) {
        if (to != cell.id) continue;
        const Cell* parent = find(cells, from);
        parents[i] = static_cast<double>(parent - cells.data());
        const double dx = cell.x - parent->x, dy = cell.y - parent->y;
        const double norm = std::hypot(dx + 1e-8, dy + 1e-8);
        links[i * 3] = std::hypot(dx, dy) / tenth;
        links[i * 3 + 1] = (dx + 1e-8) / norm;
        links[i * 3 + 2] = (dy + 1e-8) / norm;
      }
    }
    std::vector<float> all;
    for (const auto* part : {&graph, &nodes, &links, &parents}) {
      for (const double value : *part) {
        all.push_back(std::isfinite(value) ? static_cast<float>(value) : 0);
      }
    }
    return all;
  }
};

}  // namespace hotloop::reference
