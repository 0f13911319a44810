// The small-world generator against graphs made by the original (NumPy 1.24, NetworkX 2.8.8).
#include <gtest/gtest.h>

#include <map>

#include "graph/generators.hpp"
#include "tests/graph/graph_checks.hpp"

namespace hotloop {
namespace {

Pairs minus(const Pairs& a, const Pairs& b) {
  Pairs result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(result, result.end()));
  return result;
}

struct Original {
  int inputs, hidden, outputs, degree;
  double rewire;
  std::uint64_t seed;
  int nodes, edges, hidden_edges, moved, depth;
};

TEST(SmallWorld, EqualsTheOriginalInItsConfigurations) {
  const Original originals[] = {
      {4, 32, 2, 9, .2, 47, 38, 172, 118, 13, 30},
      {4, 64, 2, 8, .1, 47, 70, 294, 246, 21, 63},
      {4, 32, 2, 8, .1, 43, 38, 166, 118, 6, 31},
      {4, 264, 2, 40, .2, 47, 270, 5310, 5070, 913, 232},
      {4, 32, 2, 31, 1, 47, 38, 546, 360, 106, 29},
      {4, 128, 2, 20, .2, 47, 134, 1345, 1225, 190, 111},
      {3, 10, 2, 4, .3, 42, 15, 37, 17, 4, 9},
  };
  for (const Original& o : originals) {
    SCOPED_TRACE(testing::Message() << "hidden " << o.hidden << " degree " << o.degree);
    const Graph graph =
        generate_graph(small_world(o.hidden, o.degree, o.rewire, o.seed), o.inputs, o.outputs);
    const Graph lattice =
        generate_graph(small_world(o.hidden, o.degree, 0, o.seed), o.inputs, o.outputs);
    EXPECT_EQ(graph.nodes, o.nodes);
    EXPECT_EQ(graph.edges(), o.edges);
    EXPECT_EQ(static_cast<int>(hidden_pairs(graph).size()), o.hidden_edges);
    EXPECT_EQ(static_cast<int>(minus(hidden_pairs(lattice), hidden_pairs(graph)).size()), o.moved);
    EXPECT_EQ(longest_path(graph), o.depth);
  }
}

TEST(SmallWorld, TinyGraphEdgeByEdge) {
  const Graph graph = generate_graph(small_world(10, 4, .3, 42), 3, 2);
  const std::map<int, std::vector<int>> successors = {{3, {4, 5}},   {4, {5, 6}},    {5, {8, 10}},
                                                      {6, {7, 8}},   {7, {9, 11}},   {8, {10, 12}},
                                                      {9, {10, 11}}, {10, {11, 12}}, {11, {12}}};
  Pairs expected;
  for (const auto& [source, targets] : successors) {
    for (const int target : targets) expected.emplace(source, target);
  }
  EXPECT_EQ(hidden_pairs(graph), expected);
  for (int n = 3; n < 13; ++n) {
    std::vector<int> inputs = predecessors(graph, n);
    std::erase_if(inputs, [](int source) { return source > 2; });
    EXPECT_EQ(inputs, n < 7 ? (std::vector{0, 1, 2}) : std::vector<int>{});
  }
  for (const int n : {13, 14}) EXPECT_EQ(predecessors(graph, n), (std::vector{9, 10, 11, 12}));
}

TEST(SmallWorld, ThirtyEightNeuronsMoveTheSameEdges) {
  const Pairs before = hidden_pairs(generate_graph(small_world(32, 9, 0), 4, 2));
  const Graph graph = generate_graph(small_world(32, 9, .2), 4, 2);
  const Pairs after = hidden_pairs(graph);
  EXPECT_EQ(minus(before, after), (Pairs{{4, 5},
                                         {10, 11},
                                         {10, 14},
                                         {11, 13},
                                         {13, 17},
                                         {14, 16},
                                         {14, 17},
                                         {17, 19},
                                         {17, 21},
                                         {18, 19},
                                         {21, 25},
                                         {22, 25},
                                         {25, 29}}));
  EXPECT_EQ(minus(after, before), (Pairs{{4, 12},
                                         {10, 21},
                                         {10, 15},
                                         {11, 24},
                                         {13, 18},
                                         {14, 21},
                                         {14, 33},
                                         {17, 35},
                                         {17, 27},
                                         {18, 26},
                                         {21, 30},
                                         {22, 34},
                                         {25, 33}}));
  EXPECT_EQ(predecessors(graph, 12), (std::vector{8, 9, 10, 11, 4, 0, 1, 2, 3}));
}

TEST(SmallWorld, ChainByHand) {
  const Graph graph = generate_graph(small_world(5, 2, 0), 1, 1);
  const std::vector<std::vector<int>> expected = {{}, {0}, {1, 0}, {2}, {3}, {4}, {4, 5}};
  for (int n = 0; n < 7; ++n) EXPECT_EQ(predecessors(graph, n), expected[n]) << n;
  EXPECT_EQ(graph.edges(), 8);
}

// Rewiring keeps the number of edges and the out-degree of each neuron.
TEST(SmallWorld, EdgeCountLawAndOutDegrees) {
  for (const int hidden : {3, 5, 10, 31, 64}) {
    for (const int degree : {2, 3, 5, 8, 16, 30}) {
      if (degree >= hidden) continue;
      for (const double rewire : {0., .1, .5, 1.}) {
        SCOPED_TRACE(testing::Message() << hidden << ' ' << degree << ' ' << rewire);
        const Graph graph = generate_graph(small_world(hidden, degree, rewire, 5), 3, 2);
        const int m = degree / 2;
        EXPECT_EQ(graph.edges(), m * hidden - m * (m + 1) / 2 + (3 + 2) * degree);
        std::vector<int> out(hidden, 0);
        for (const auto& [source, target] : hidden_pairs(graph)) {
          EXPECT_LT(source, target);
          ++out[source - 3];
        }
        for (int u = 0; u < hidden; ++u) EXPECT_EQ(out[u], std::min(m, hidden - 1 - u)) << u;
      }
    }
  }
}

TEST(SmallWorld, TheShareOfMovedEdgesApproachesItsProbability) {
  const int hidden = 2'000, degree = 8;
  const Pairs before = hidden_pairs(generate_graph(small_world(hidden, degree, 0), 1, 1));
  for (const double rewire : {.05, .3, 1.}) {
    const Pairs after = hidden_pairs(generate_graph(small_world(hidden, degree, rewire), 1, 1));
    // A redrawn edge rarely lands on an old edge: about 4 of 1,000 possible targets on average.
    const double share = static_cast<double>(minus(before, after).size()) / before.size();
    EXPECT_NEAR(share, rewire, .02);
  }
}

// With nearly every target taken, a redrawn edge may find no target in 101 draws; then it is
// dropped.
TEST(SmallWorld, EdgesAreLostWhenNoTargetIsFound) {
  const Graph graph = generate_graph(small_world(200, 199, 1), 1, 1);
  const int all = 99 * 200 - 99 * 100 / 2;
  const int left = static_cast<int>(hidden_pairs(graph).size());
  EXPECT_LT(left, all);
  EXPECT_GT(left, all - all / 20);
}

}  // namespace
}  // namespace hotloop
