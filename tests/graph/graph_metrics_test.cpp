#include "graph/graph_metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <numeric>

#include "graph/hidden_edges.hpp"
#include "graph/undirected.hpp"
#include "tests/graph/graph_checks.hpp"

namespace hotloop {
namespace {

GraphMetrics of(int hidden, int degree, double rewire) {
  return graph_metrics(generate_graph(small_world(hidden, degree, rewire), 4, 2));
}

// Values from NetworkX 2.8.8 for the original's graphs.
TEST(GraphMetrics, ClusteringAndPathLengthOfTheOriginalsGraphs) {
  EXPECT_NEAR(of(32, 9, 0).clustering, 0.695536, 1e-6);
  EXPECT_NEAR(of(32, 9, 0).path_length, 1560. / 496, 1e-12);
  EXPECT_NEAR(of(32, 9, .2).clustering, 0.541766, 1e-6);
  EXPECT_NEAR(of(32, 9, .2).path_length, 2.252016, 1e-6);
  EXPECT_NEAR(of(64, 8, 0).clustering, 0.669196, 1e-6);
  EXPECT_NEAR(of(64, 8, 0).path_length, 11696. / 2016, 1e-12);
}

TEST(GraphMetrics, PathLengthOfALatticeFollowsItsLaw) {
  for (const int hidden : {3, 7, 20, 53}) {
    for (int degree = 2; degree < hidden; degree += 3) {
      const int reach = degree / 2;
      std::int64_t sum = 0;
      for (int d = 1; d < hidden; ++d) sum += std::int64_t{hidden - d} * ((d + reach - 1) / reach);
      EXPECT_DOUBLE_EQ(of(hidden, degree, 0).path_length, sum / (hidden * (hidden - 1) / 2.));
    }
  }
}

TEST(GraphMetrics, CountsAndLevelsByHand) {
  // 0,1 > 2 > 3 > 5, 0 > 3, 4 (no predecessors) > 5.
  const Graph graph = make_graph(2, 3, 1, {{0, 2}, {1, 2}, {2, 3}, {0, 3}, {3, 5}, {4, 5}}, "here");
  const GraphMetrics metrics = graph_metrics(graph);
  EXPECT_EQ(metrics.nodes, 6);
  EXPECT_EQ(metrics.edges, 6);
  EXPECT_EQ(metrics.hidden_edges, 1);
  EXPECT_EQ(metrics.depth, 3);
  EXPECT_EQ(metrics.widths, (std::vector{3, 1, 1, 1}));
  EXPECT_EQ(metrics.clustering, 0);
  EXPECT_EQ(metrics.path_length, 1);
  EXPECT_TRUE(std::isnan(metrics.sigma));  // no triangle anywhere
  EXPECT_TRUE(std::isnan(metrics.omega));
}

TEST(GraphMetrics, DepthOfTheOriginalsGraphs) {
  EXPECT_EQ(of(32, 9, .2).depth, 30);
  EXPECT_EQ(of(264, 40, .2).depth, 232);
  const GraphMetrics dense =
      graph_metrics(generate_graph({.kind = GraphKind::dense, .hidden = {5, 4}}, 3, 2));
  EXPECT_EQ(dense.depth, 3);
  EXPECT_EQ(dense.widths, (std::vector{3, 5, 4, 2}));
  EXPECT_EQ(dense.clustering, 0);  // layers have no triangles
}

TEST(GraphMetrics, NoHiddenNeuronIsNoError) {
  const GraphMetrics metrics = graph_metrics(make_graph(1, 0, 1, {{0, 1}}, "here"));
  EXPECT_EQ(metrics.depth, 1);
  EXPECT_EQ(metrics.communities, 0);
  EXPECT_EQ(metrics.modularity, 0);
  EXPECT_TRUE(std::isnan(metrics.path_length));
}

// The lattice is its own reference; a fully rewired graph is close to the random one.
TEST(GraphMetrics, SmallWorldnessDistinguishesLatticesSmallWorldsAndRandomGraphs) {
  const GraphMetrics lattice = of(300, 10, 0), small = of(300, 10, .1);
  EXPECT_EQ(lattice.lattice_clustering, lattice.clustering);
  EXPECT_LT(lattice.omega, -.7);
  EXPECT_GT(small.sigma, 3);
  EXPECT_LT(std::abs(small.omega), .5);
  GraphOptions options = small_world(300, 10, 0);
  options.kind = GraphKind::random;
  const GraphMetrics random = graph_metrics(generate_graph(options, 4, 2));
  EXPECT_NEAR(random.sigma, 1, .2);
  EXPECT_GT(random.omega, .8);
}

TEST(GraphMetrics, SigmaAndOmegaAreTheirFormulas) {
  const GraphMetrics m = of(32, 9, .2);
  EXPECT_GT(m.random_clustering, 0);
  EXPECT_DOUBLE_EQ(m.sigma,
                   m.clustering / m.random_clustering * m.random_path_length / m.path_length);
  EXPECT_DOUBLE_EQ(m.omega,
                   m.random_path_length / m.path_length - m.clustering / m.lattice_clustering);
}

// Large graphs are measured by samples. The exact functions say how well.
TEST(GraphMetrics, EstimatesLargeGraphs) {
  for (const GraphKind kind : {GraphKind::small_world, GraphKind::scale_free, GraphKind::lattice}) {
    GraphOptions options = small_world(1'200, 20, .1);
    options.kind = kind;
    const Graph graph = generate_graph(options, 4, 2);
    const GraphMetrics m = graph_metrics(graph);
    EXPECT_EQ(estimated_from(m), "256 sources and 100000 pairs of neighbours");
    std::vector<Edge> edges;
    for (const auto& [source, target] : hidden_pairs(graph))
      edges.push_back({source - 4, target - 4});
    const Neighbours hidden = neighbours_of(1'200, edges);
    EXPECT_NEAR(m.clustering, clustering(hidden), .006);
    EXPECT_NEAR(m.path_length / mean_path_length(hidden), 1, .02);
    NumpyRandom random(1);
    const Neighbours reference = neighbours_of(1'200, uniform_edges(1'200, m.hidden_edges, random));
    EXPECT_NEAR(m.random_clustering / clustering(reference), 1, .1);
    EXPECT_NEAR(m.random_path_length / mean_path_length(reference), 1, .01);
    const GraphMetrics again = graph_metrics(graph);
    EXPECT_EQ(again.clustering, m.clustering);
    EXPECT_EQ(again.path_length, m.path_length);
    EXPECT_EQ(again.sigma, m.sigma);
    EXPECT_EQ(again.modularity, m.modularity);
  }
  EXPECT_EQ(estimated_from(of(264, 40, .2)), "");
}

// They took minutes when every pair was measured. Seconds of CPU time: the machine may be busy.
TEST(GraphMetrics, TakeASecondOrTwoAtMost) {
  const auto seconds = [](const Graph& graph, double& modularity) {
    const std::clock_t start = std::clock();
    modularity = graph_metrics(graph).modularity;
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  double modularity = 0;
  EXPECT_LT(seconds(generate_graph(small_world(10'000, 2, 0), 4, 2), modularity), 2);
  EXPECT_GT(modularity, .9);  // a chain
  const Graph million = generate_graph(small_world(16'384, 122, .1), 4, 2);
  EXPECT_GT(million.edges(), 990'000);
  EXPECT_LT(seconds(million, modularity), 4);
  // A star: every pair of its arms is two apart, and a neighbour of nobody else.
  std::vector<Edge> edges = {{0, 1}, {1, 60'001}};
  for (int n = 2; n <= 60'000; ++n) edges.push_back({1, n});
  EXPECT_LT(seconds(make_graph(1, 60'000, 1, edges, "here"), modularity), 2);
}

TEST(Undirected, ModularityByHand) {
  // Two triangles joined by one edge: 6 of 7 edges inside, half of the ends in each.
  const Neighbours graph =
      neighbours_of(6, {{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5}, {2, 3}});
  EXPECT_NEAR(modularity(graph, {0, 0, 0, 1, 1, 1}), 6. / 7 - .5, 1e-15);
  EXPECT_NEAR(modularity(graph, {0, 0, 0, 0, 0, 0}), 0, 1e-15);
  EXPECT_EQ(communities(graph), (std::vector{0, 0, 0, 1, 1, 1}));
  EXPECT_NEAR(clustering(graph), (4 + 2. / 3) / 6, 1e-15);
}

TEST(Undirected, CommunitiesAreTheModules) {
  GraphOptions options = small_world(120, 12, .05);
  options.kind = GraphKind::modular;
  options.modules = 4;
  const GraphMetrics metrics = graph_metrics(generate_graph(options, 4, 2));
  EXPECT_GT(metrics.modularity, .6);
  options.modules = 1;
  options.rewire = 1;
  EXPECT_LT(graph_metrics(generate_graph(options, 4, 2)).modularity, .4);
}

}  // namespace
}  // namespace hotloop
