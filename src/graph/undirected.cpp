#include "graph/undirected.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace hotloop {
namespace {

// Louvain stops after this many visits of links: about a second. A graph that reaches this has a
// million edges or more; its communities are those found until then.
constexpr std::int64_t kMaxVisits = 30'000'000;

struct Link {
  int other = 0;
  double weight = 0;  // number of edges
};

// The graph that Louvain works on. Its nodes are neurons first, then communities.
struct Weighted {
  std::vector<std::vector<Link>> links;  // per node, ascending, to others
  std::vector<double> strength;          // edge ends per node, including inner edges

  int nodes() const { return static_cast<int>(links.size()); }
};

// Adds up weights by community. Reading them out, in ascending order, clears them.
class Sums {
 public:
  explicit Sums(int communities) : sum_(communities, 0.0) {}

  void add(int community, double weight) {
    if (sum_[community] == 0) touched_.push_back(community);
    sum_[community] += weight;
  }
  double operator[](int community) const { return sum_[community]; }

  template <class Visit>  // visit(community, weight)
  void take(const Visit& visit) {
    std::sort(touched_.begin(), touched_.end());
    for (const int c : touched_) visit(c, std::exchange(sum_[c], 0.0));
    touched_.clear();
  }

 private:
  std::vector<double> sum_;
  std::vector<int> touched_;
};

Weighted weighted(const Neighbours& graph) {
  Weighted result;
  for (const std::vector<int>& list : graph) {
    std::vector<Link>& links = result.links.emplace_back();
    for (const int n : list) links.push_back({n, 1});
    result.strength.push_back(static_cast<double>(list.size()));
  }
  return result;
}

// Moves every node to the neighbouring community that raises the modularity most, until no move
// raises it or `visits` has reached its maximum. Returns whether any node moved.
bool settle(const Weighted& graph, double ends, std::vector<int>& community, std::int64_t& visits) {
  constexpr double kBetter = 1e-9;             // in edges: smaller differences are rounding
  std::vector<double> total = graph.strength;  // by community
  Sums links(graph.nodes());
  bool any = false;
  for (bool moved = true; moved && visits < kMaxVisits;) {
    moved = false;
    for (int n = 0; n < graph.nodes(); ++n) {
      const double strength = graph.strength[n];
      const int old = community[n];
      for (const Link& link : graph.links[n]) links.add(community[link.other], link.weight);
      visits += std::ssize(graph.links[n]) + 1;
      total[old] -= strength;
      const auto gain = [&](int c, double weight) { return weight - total[c] * strength / ends; };
      int best = old;
      double best_gain = gain(old, links[old]);
      links.take([&](int c, double weight) {
        if (const double g = gain(c, weight); g > best_gain + kBetter) {
          best = c;
          best_gain = g;
        }
      });
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
  std::vector<std::vector<int>> members(count);
  for (int n = 0; n < graph.nodes(); ++n) members[community[n]].push_back(n);
  Weighted result{std::vector<std::vector<Link>>(count), std::vector<double>(count, 0.0)};
  Sums links(count);
  for (int c = 0; c < count; ++c) {
    for (const int n : members[c]) {
      result.strength[c] += graph.strength[n];
      for (const Link& link : graph.links[n]) {
        if (community[link.other] != c) links.add(community[link.other], link.weight);
      }
    }
    links.take([&](int other, double weight) { result.links[c].push_back({other, weight}); });
  }
  return result;
}

// Breadth-first search, over and over on one graph.
class Search {
 public:
  explicit Search(const Neighbours& graph) : graph_(graph), distance_(graph.size()) {}

  // Adds the distances from `start` to all neurons that it reaches.
  void from(int start) {
    std::fill(distance_.begin(), distance_.end(), -1);
    distance_[start] = 0;
    queue_.assign(1, start);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const int n = queue_[i];
      sum_ += distance_[n];
      for (const int next : graph_[n]) {
        if (distance_[next] >= 0) continue;
        distance_[next] = distance_[n] + 1;
        queue_.push_back(next);
      }
    }
    pairs_ += std::ssize(queue_) - 1;
  }
  double mean() const {
    if (pairs_ == 0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(sum_) / static_cast<double>(pairs_);
  }

 private:
  const Neighbours& graph_;
  std::vector<int> distance_, queue_;
  std::int64_t sum_ = 0, pairs_ = 0;
};

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

double estimated_clustering(const Neighbours& graph, int pairs, NumpyRandom& random) {
  if (graph.empty()) return 0;
  int linked = 0;
  for (int i = 0; i < pairs; ++i) {
    const std::vector<int>& list = graph[random.below(0, static_cast<int>(graph.size()))];
    const int degree = static_cast<int>(list.size());
    if (degree < 2) continue;
    const int first = random.below(0, degree);
    int second = random.below(0, degree - 1);
    second += second >= first ? 1 : 0;
    const std::vector<int>& others = graph[list[first]];
    linked += std::binary_search(others.begin(), others.end(), list[second]) ? 1 : 0;
  }
  return static_cast<double>(linked) / pairs;
}

double mean_path_length(const Neighbours& graph) {
  Search search(graph);
  for (int start = 0; start < static_cast<int>(graph.size()); ++start) search.from(start);
  return search.mean();
}

double estimated_path_length(const Neighbours& graph, int sources, NumpyRandom& random) {
  Search search(graph);
  const auto nodes = static_cast<std::int64_t>(graph.size());
  for (std::int64_t i = 0; i < sources; ++i) {
    search.from(static_cast<int>(random.below(i * nodes / sources, (i + 1) * nodes / sources)));
  }
  return search.mean();
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
  std::int64_t visits = 0;
  while (ends > 0 && settle(level, ends, community, visits)) {
    const int count = renumber(community);
    for (int& c : result) c = community[c];
    level = merge(level, community, count);
    community.resize(count);
    std::iota(community.begin(), community.end(), 0);
  }
  return result;
}

}  // namespace hotloop
