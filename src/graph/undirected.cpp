#include "graph/undirected.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

namespace hotloop {
namespace {

// The graph that Louvain works on. Its nodes are neurons first, then communities.
struct Weighted {
  std::vector<std::map<int, double>> links;  // to others; weight = number of edges
  std::vector<double> strength;              // edge ends per node, including inner edges
};

Weighted weighted(const Neighbours& graph) {
  Weighted result;
  for (const std::vector<int>& list : graph) {
    std::map<int, double>& links = result.links.emplace_back();
    for (const int n : list) links[n] = 1;
    result.strength.push_back(static_cast<double>(list.size()));
  }
  return result;
}

// Moves every node to the neighbouring community that raises the modularity most, until no move
// raises it. Returns whether any node moved.
bool settle(const Weighted& graph, double ends, std::vector<int>& community) {
  constexpr double kBetter = 1e-9;  // in edges: smaller differences are rounding
  const int nodes = static_cast<int>(graph.links.size());
  std::vector<double> total = graph.strength;  // by community
  bool any = false;
  for (bool moved = true; moved;) {
    moved = false;
    for (int n = 0; n < nodes; ++n) {
      const double strength = graph.strength[n];
      const int old = community[n];
      std::map<int, double> links;
      for (const auto& [other, weight] : graph.links[n]) links[community[other]] += weight;
      total[old] -= strength;
      const auto gain = [&](int c) { return links[c] - total[c] * strength / ends; };
      int best = old;
      double best_gain = gain(old);
      for (const auto& [c, weight] : links) {
        if (const double g = gain(c); g > best_gain + kBetter) {
          best = c;
          best_gain = g;
        }
      }
      total[best] += strength;
      community[n] = best;
      moved |= best != old;
    }
    any |= moved;
  }
  return any;
}

// Numbers the communities from 0 in the order of their first members. Returns their number.
int renumber(std::vector<int>& community) {
  std::vector<int> number(community.size(), -1);
  int count = 0;
  for (int& c : community) {
    if (number[c] < 0) number[c] = count++;
    c = number[c];
  }
  return count;
}

Weighted merge(const Weighted& graph, const std::vector<int>& community, int count) {
  Weighted result{std::vector<std::map<int, double>>(count), std::vector<double>(count, 0.0)};
  for (std::size_t n = 0; n < graph.links.size(); ++n) {
    const int c = community[n];
    result.strength[c] += graph.strength[n];
    for (const auto& [other, weight] : graph.links[n]) {
      if (community[other] != c) result.links[c][community[other]] += weight;
    }
  }
  return result;
}

}  // namespace

Neighbours neighbours_of(int nodes, const std::vector<Edge>& edges) {
  Neighbours graph(nodes);
  for (const auto [source, target] : edges) {
    graph[source].push_back(target);
    graph[target].push_back(source);
  }
  for (std::vector<int>& list : graph) std::sort(list.begin(), list.end());
  return graph;
}

double clustering(const Neighbours& graph) {
  if (graph.empty()) return 0;
  std::vector<int> neighbour_of(graph.size(), -1);
  double sum = 0;
  for (int n = 0; n < static_cast<int>(graph.size()); ++n) {
    const double degree = static_cast<double>(graph[n].size());
    if (degree < 2) continue;
    for (const int m : graph[n]) neighbour_of[m] = n;
    std::int64_t linked = 0;  // counts each pair twice
    for (const int m : graph[n]) {
      for (const int other : graph[m]) linked += neighbour_of[other] == n;
    }
    sum += static_cast<double>(linked) / (degree * (degree - 1));
  }
  return sum / static_cast<double>(graph.size());
}

double mean_path_length(const Neighbours& graph) {
  std::int64_t sum = 0, pairs = 0;
  std::vector<int> distance(graph.size()), queue;
  for (int start = 0; start < static_cast<int>(graph.size()); ++start) {
    std::fill(distance.begin(), distance.end(), -1);
    distance[start] = 0;
    queue.assign(1, start);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int n = queue[i];
      sum += distance[n];
      for (const int next : graph[n]) {
        if (distance[next] >= 0) continue;
        distance[next] = distance[n] + 1;
        queue.push_back(next);
      }
    }
    pairs += static_cast<std::int64_t>(queue.size()) - 1;
  }
  if (pairs == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(sum) / static_cast<double>(pairs);
}

double modularity(const Neighbours& graph, const std::vector<int>& community) {
  std::vector<double> total(graph.size(), 0);  // edge ends per community
  double ends = 0, inside = 0;
  for (std::size_t n = 0; n < graph.size(); ++n) {
    total[community[n]] += static_cast<double>(graph[n].size());
    ends += static_cast<double>(graph[n].size());
    for (const int m : graph[n]) inside += community[m] == community[n];
  }
  if (ends == 0) return 0;
  double expected = 0;
  for (const double t : total) expected += t / ends * (t / ends);
  return inside / ends - expected;
}

std::vector<int> communities(const Neighbours& graph) {
  std::vector<int> result(graph.size());
  std::iota(result.begin(), result.end(), 0);
  Weighted level = weighted(graph);
  const double ends = std::accumulate(level.strength.begin(), level.strength.end(), 0.0);
  std::vector<int> community = result;
  while (ends > 0 && settle(level, ends, community)) {
    const int count = renumber(community);
    for (int& c : result) c = community[c];
    level = merge(level, community, count);
    community.resize(count);
    std::iota(community.begin(), community.end(), 0);
  }
  return result;
}

}  // namespace hotloop
