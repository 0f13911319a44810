#include "graph/hidden_edges.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <tuple>

namespace hotloop {
namespace {

constexpr int kRedraws = 100;  // until a target is free

bool by_source(Edge a, Edge b) {
  return std::tie(a.source, a.target) < std::tie(b.source, b.target);
}

// Up to here uniform_edges looks at every pair, which takes up to two seconds. The largest graph
// that a spec can ask for (16,384 hidden neurons) is below.
constexpr std::int64_t kMaxScannedPairs = std::int64_t{1} << 27;

std::int64_t pairs_of(int hidden) { return std::int64_t{hidden} * (hidden - 1) / 2; }

}  // namespace

std::int64_t lattice_edges(int hidden, int degree) {
  const std::int64_t reach = degree / 2;
  return reach * hidden - reach * (reach + 1) / 2;
}

std::vector<Edge> small_world_edges(int hidden, int degree, double rewire, NumpyRandom& random) {
  std::vector<Edge> edges, redrawn;
  std::vector<int> linked_from(hidden, -1);  // u if there is an edge from u
  for (int u = 0; u < hidden; ++u) {
    const int end = std::min(u + degree / 2 + 1, hidden);
    std::fill(linked_from.begin() + u + 1, linked_from.begin() + end, u);
    for (int v = u + 1; v < end; ++v) {
      if (random.uniform() >= rewire) {
        edges.push_back({u, v});
        continue;
      }
      linked_from[v] = -1;
      int target = random.below(u + 1, hidden);
      for (int i = 0; i < kRedraws && linked_from[target] == u; ++i)
        target = random.below(u + 1, hidden);
      if (linked_from[target] == u) continue;
      linked_from[target] = u;
      redrawn.push_back({u, target});
    }
  }
  edges.insert(edges.end(), redrawn.begin(), redrawn.end());
  return edges;
}

std::vector<Edge> uniform_edges(int hidden, int count, NumpyRandom& random) {
  const std::int64_t pairs = pairs_of(hidden);
  assert(count <= pairs);
  if (pairs > kMaxScannedPairs) return few_uniform_edges(hidden, count, random);
  // Selection sampling (Knuth, volume 2, algorithm S): `missing` of the `left` remaining pairs must
  // be taken, so the next one is taken with probability missing / left.
  auto left = static_cast<int>(pairs);
  std::vector<Edge> edges;
  for (int u = 0; u < hidden; ++u) {
    for (int v = u + 1; v < hidden; ++v, --left) {
      const int missing = count - static_cast<int>(edges.size());
      if (missing == 0) return edges;
      if (random.below(0, left) < missing) edges.push_back({u, v});
    }
  }
  return edges;
}

std::vector<Edge> few_uniform_edges(int hidden, int count, NumpyRandom& random) {
  const std::int64_t pairs = pairs_of(hidden);
  if (2 * std::int64_t{count} > pairs) return uniform_edges(hidden, count, random);
  std::vector<std::int64_t> drawn;  // the number of each pair: 0-1, 0-2, ..., 1-2, ...
  while (std::ssize(drawn) < count) {
    for (std::int64_t missing = count - std::ssize(drawn); missing > 0; --missing)
      drawn.push_back(random.below(std::int64_t{0}, pairs));
    std::sort(drawn.begin(), drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  }
  std::vector<Edge> edges;
  int u = 0;
  std::int64_t first = 0;  // the number of the pair u, u + 1
  for (const std::int64_t pair : drawn) {
    for (; pair >= first + hidden - 1 - u; ++u) first += hidden - 1 - u;
    edges.push_back({u, u + 1 + static_cast<int>(pair - first)});
  }
  return edges;
}

std::vector<Edge> scale_free_edges(int hidden, int degree, NumpyRandom& random) {
  const int reach = degree / 2;
  std::vector<Edge> edges;
  std::vector<int> ends;                   // of all edges: a neuron with d edges appears d times
  std::vector<int> linked_to(hidden, -1);  // n if there is an edge to n
  for (int n = 1; n < hidden; ++n) {
    for (int i = 0; i < std::min(n, reach); ++i) {
      int source = i;  // the first neurons attach to all earlier ones
      if (n > reach) {
        do {
          source = ends[random.below(0, static_cast<int>(ends.size()))];
        } while (linked_to[source] == n);
      }
      linked_to[source] = n;
      edges.push_back({source, n});
    }
    for (auto e = edges.end() - std::min(n, reach); e != edges.end(); ++e) {
      ends.push_back(e->source);
      ends.push_back(n);
    }
  }
  std::sort(edges.begin(), edges.end(), by_source);
  return edges;
}

int module_begin(int module, int modules, int hidden) {
  return static_cast<int>(std::int64_t{module} * hidden / modules);
}

std::vector<Edge> modular_edges(int hidden, int degree, int modules, double rewire,
                                NumpyRandom& random) {
  std::set<std::pair<int, int>> leaving;  // edges between modules, so never equal to inner ones
  std::vector<Edge> edges;
  for (int b = 0; b < modules; ++b) {
    const int begin = module_begin(b, modules, hidden);
    const int size = module_begin(b + 1, modules, hidden) - begin;
    for (const Edge inner : small_world_edges(size, degree, rewire, random)) {
      const Edge edge = {begin + inner.source, begin + inner.target};
      bool stays = modules == 1 || random.uniform() >= rewire;
      for (int i = 0; i <= kRedraws && !stays; ++i) {
        int other = random.below(0, hidden - size);
        if (other >= begin) other += size;
        const auto [low, high] = std::minmax(edge.source, other);
        if (!leaving.emplace(low, high).second) {
          stays = i == kRedraws;
          continue;
        }
        edges.push_back({low, high});
        break;
      }
      if (stays) edges.push_back(edge);
    }
  }
  std::sort(edges.begin(), edges.end(), by_source);
  return edges;
}

void connect(std::vector<Edge>& edges, int hidden, const std::vector<int>& entries,
             const std::vector<int>& exits) {
  constexpr int kNo = -2, kEnd = -1;      // other values are the number of an edge
  std::vector<int> reached(hidden, kNo);  // the edge that reaches a neuron; kEnd for entries
  std::vector<int> leads(hidden, kNo);    // the edge from a neuron towards an exit; kEnd for exits
  for (const int n : entries) reached[n] = kEnd;
  for (const int n : exits) leads[n] = kEnd;
  const int count = static_cast<int>(edges.size());
  for (int e = 0; e < count; ++e) {
    const auto [source, target] = edges[e];
    if (reached[source] != kNo && reached[target] == kNo) reached[target] = e;
  }
  for (int e = count - 1; e >= 0; --e) {
    const auto [source, target] = edges[e];
    if (leads[target] != kNo && leads[source] == kNo) leads[source] = e;
  }
  int highest = 0;
  for (int n = 0; n < hidden; ++n) {
    if (reached[n] == kNo) continue;
    if (leads[n] != kNo) return;
    highest = n;
  }
  int lowest = highest + 1;
  while (leads[lowest] == kNo) ++lowest;

  std::vector<char> needed(count, false);
  for (int n = highest; reached[n] != kEnd; n = edges[reached[n]].source) needed[reached[n]] = true;
  for (int n = lowest; leads[n] != kEnd; n = edges[leads[n]].target) needed[leads[n]] = true;
  // There is a spare edge: the path contains only one entry and one exit, so it is shorter than the
  // chains that the recipes start from.
  const auto spare = std::find(needed.begin(), needed.end(), false);
  assert(spare != needed.end());
  edges[spare - needed.begin()] = {highest, lowest};
  std::sort(edges.begin(), edges.end(), by_source);
}

}  // namespace hotloop
