#include "graph/generators.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>
#include <numeric>
#include <tuple>

#include "graph/graph_text.hpp"
#include "graph/hidden_edges.hpp"
#include "tests/graph/graph_checks.hpp"

namespace hotloop {
namespace {

constexpr GraphKind kDrawn[] = {GraphKind::small_world, GraphKind::random, GraphKind::scale_free,
                                GraphKind::modular};

std::string complaint(const GraphOptions& options, int inputs = 4, int outputs = 2) {
  try {
    generate_graph(options, inputs, outputs);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(Generators, DenseCountsOfTheSpecification) {
  const Graph small = generate_graph({.kind = GraphKind::dense, .hidden = {5, 4}}, 3, 2);
  EXPECT_EQ(small.nodes, 14);
  EXPECT_EQ(small.edges(), 43);
  EXPECT_EQ(predecessors(small, 3), (std::vector{0, 1, 2}));
  EXPECT_EQ(predecessors(small, 11), (std::vector{3, 4, 5, 6, 7}));
  EXPECT_EQ(predecessors(small, 13), (std::vector{8, 9, 10, 11}));
  const Graph large = generate_graph({.kind = GraphKind::dense, .hidden = {64, 64, 64}}, 4, 2);
  EXPECT_EQ(large.nodes, 198);
  EXPECT_EQ(large.edges(), 8576);
}

TEST(Generators, DenseWithoutHiddenLayerConnectsInputsToOutputs) {
  EXPECT_EQ(to_text(generate_graph({.kind = GraphKind::dense, .hidden = {}}, 2, 1)),
            "2 0 1: 0>2 1>2");
}

TEST(Generators, LatticeIsASmallWorldWithoutRewiring) {
  GraphOptions options = small_world(20, 6, .5);
  options.kind = GraphKind::lattice;
  EXPECT_EQ(generate_graph(options, 4, 2), generate_graph(small_world(20, 6, 0), 4, 2));
}

// make_graph checks the result of generate_graph: no cycles, no dead inputs or outputs.
TEST(Generators, EveryKindGivesValidGraphsWithTheEdgesOfASmallWorld) {
  for (const GraphKind kind : kDrawn) {
    for (const int hidden : {12, 16, 33, 80}) {
      for (const int degree : {2, 3, 4, 9}) {
        for (const int modules : {1, 2, 3}) {
          if (degree >= hidden / modules) continue;
          for (std::uint64_t seed = 0; seed < 20; ++seed) {
            SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << ' ' << hidden << ' '
                                            << degree << ' ' << modules << ' ' << seed);
            GraphOptions options = small_world(hidden, degree, .3, seed);
            options.kind = kind;
            options.modules = modules;
            const Graph graph = generate_graph(options, 3, 2);
            EXPECT_EQ(generate_graph(options, 3, 2), graph);

            std::vector<std::int32_t> rising(hidden + 2);
            std::iota(rising.begin(), rising.end(), 3);
            EXPECT_EQ(graph.order, rising);

            std::int64_t between = lattice_edges(hidden, degree);
            int links = degree;
            if (kind == GraphKind::modular) {
              between = 0;
              for (int b = 0; b < modules; ++b) {
                between += lattice_edges(
                    module_begin(b + 1, modules, hidden) - module_begin(b, modules, hidden),
                    degree);
              }
              links = (degree + modules - 1) / modules * modules;
            }
            EXPECT_EQ(static_cast<std::int64_t>(hidden_pairs(graph).size()), between);
            EXPECT_EQ(graph.edges(), between + (3 + 2) * links);
          }
        }
      }
    }
  }
}

TEST(Generators, SeedsGiveDifferentGraphs) {
  for (const GraphKind kind : kDrawn) {
    GraphOptions options = small_world(32, 6, .3, 1);
    options.kind = kind;
    const Graph one = generate_graph(options, 4, 2);
    options.seed = 2;
    EXPECT_NE(generate_graph(options, 4, 2), one) << static_cast<int>(kind);
  }
}

TEST(Generators, RandomEdgesAreEvenlySpread) {
  for (const auto draw : {uniform_edges, few_uniform_edges}) {
    std::vector<int> hits(6 * 6, 0);
    NumpyRandom random(11);
    for (int i = 0; i < 6'000; ++i) {
      const std::vector<Edge> edges = draw(6, 5, random);
      ASSERT_EQ(edges.size(), 5u);
      for (const Edge edge : edges) ++hits[edge.source * 6 + edge.target];
    }
    for (int u = 0; u < 6; ++u) {  // each of 15 pairs in a third of the draws
      for (int v = 0; v < 6; ++v) EXPECT_NEAR(hits[u * 6 + v], v > u ? 2'000 : 0, 200);
    }
  }
  NumpyRandom random(1);
  EXPECT_EQ(few_uniform_edges(7, 21, random).size(), 21u) << "all pairs";
}

// More pairs than an int can count.
TEST(Generators, RandomEdgesOfManyNeuronsAreDifferentAndSpread) {
  constexpr int kHidden = 100'000, kCount = 200'000;
  NumpyRandom random(11);
  const std::vector<Edge> edges = uniform_edges(kHidden, kCount, random);
  ASSERT_EQ(edges.size(), static_cast<std::size_t>(kCount));
  double sources = 0, targets = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto [source, target] = edges[i];
    ASSERT_TRUE(0 <= source && source < target && target < kHidden);
    if (i > 0) {
      ASSERT_TRUE(std::tie(edges[i - 1].source, edges[i - 1].target) < std::tie(source, target));
    }
    sources += source;
    targets += target;
  }
  // The lower and the higher of two uniform numbers have means 1/3 and 2/3.
  EXPECT_NEAR(sources / kCount / kHidden, 1. / 3, .003);
  EXPECT_NEAR(targets / kCount / kHidden, 2. / 3, .003);
}

TEST(Generators, ScaleFreeHasHubs) {
  GraphOptions options = small_world(300, 4, 0);
  const auto largest_degree = [&](GraphKind kind) {
    options.kind = kind;
    std::vector<int> degree(310, 0);
    for (const auto& [source, target] : hidden_pairs(generate_graph(options, 4, 2))) {
      ++degree[source];
      ++degree[target];
    }
    return *std::max_element(degree.begin(), degree.end());
  };
  EXPECT_GT(largest_degree(GraphKind::scale_free), 2 * largest_degree(GraphKind::random));
}

TEST(Generators, ShareOfEdgesBetweenModulesApproachesItsProbability) {
  for (const double rewire : {0., .1, .4}) {
    GraphOptions options = small_world(800, 8, rewire);
    options.kind = GraphKind::modular;
    options.modules = 4;
    const Pairs pairs = hidden_pairs(generate_graph(options, 4, 2));
    double between = 0;
    for (const auto& [source, target] : pairs) between += (source - 4) / 200 != (target - 4) / 200;
    EXPECT_NEAR(between / pairs.size(), rewire, .02);
  }
}

TEST(Generators, OneModuleIsASmallWorld) {
  GraphOptions options = small_world(40, 6, .3);
  const Pairs expected = hidden_pairs(generate_graph(options, 4, 2));
  options.kind = GraphKind::modular;
  options.modules = 1;
  EXPECT_EQ(hidden_pairs(generate_graph(options, 4, 2)), expected);
}

TEST(Generators, ConnectAddsTheMissingLinkInPlaceOfASpareEdge) {
  // 0 > 2 starts at an input, 4 > 6 leads to an output, 1 > 5 does neither.
  std::vector<Edge> edges = {{0, 2}, {1, 5}, {4, 6}};
  connect(edges, 7, {0}, {6});
  EXPECT_EQ(edges, (std::vector<Edge>{{0, 2}, {2, 4}, {4, 6}}));
  connect(edges, 7, {0}, {6});
  EXPECT_EQ(edges, (std::vector<Edge>{{0, 2}, {2, 4}, {4, 6}}));
}

TEST(Generators, EdgesComeBackAsGiven) {
  const Graph graph = generate_graph(small_world(32, 9, .2), 4, 2);
  const GraphOptions options = {.kind = GraphKind::edges, .edges = to_text(graph)};
  EXPECT_EQ(generate_graph(options, 4, 2), graph);
  EXPECT_EQ(complaint(options, 3, 2),
            "net.graph.edges: has 4 inputs and 2 outputs; needed: 3 and 2");
}

TEST(Generators, EdgesSayWhereTheTextIsWrong) {
  const auto of = [](const char* text) {
    return complaint({.kind = GraphKind::edges, .edges = text}, 2, 1);
  };
  EXPECT_EQ(of("2 1 1: 0>2 1>2 2>3"), "none");
  EXPECT_EQ(of(" 2  1 1 :0>2\n1>2 2>3 "), "none");
  EXPECT_NE(of("2 1: 0>2").find("net.graph.edges: expected a number at \": 0>2\""),
            std::string::npos);
  EXPECT_NE(of("2 1 1: 0>2 1-2 2>3").find("expected '>' at \"-2 2>3\""), std::string::npos);
  EXPECT_NE(of("2 1 1 0>2").find("expected ':'"), std::string::npos);
  EXPECT_NE(of("").find("expected a number at \"\""), std::string::npos);
  EXPECT_EQ(of("2 1 1: 0>2 2>3"), "net.graph.edges: input 1 leads to no output");
}

TEST(Generators, RefuseWhatTheyCannotMakeByKey) {
  EXPECT_EQ(complaint(small_world(32, 32, .1)),
            "net.graph.degree: 32; allowed for 32 hidden neurons: 2 to 31");
  EXPECT_EQ(complaint(small_world(32, 1, .1)),
            "net.graph.degree: 1; allowed for 32 hidden neurons: 2 to 31");
  EXPECT_EQ(complaint(small_world(32, 31, .1)), "none");
  EXPECT_EQ(complaint(small_world(32, 8, 1.5)), "net.graph.rewire: 1.5; allowed: 0 to 1");
  EXPECT_EQ(complaint(small_world(32, 8, .1, 1ull << 32)),
            "net.graph.seed: 4294967296; allowed: 0 to 4294967295");
  EXPECT_EQ(complaint(small_world(2, 8, .1)),
            "net.graph.hidden: 2; a graph of kind small_world has at least 3");
  EXPECT_EQ(
      complaint({.kind = GraphKind::lattice, .hidden = {8, 8}}),
      "net.graph.hidden: 2 numbers; a graph of kind lattice takes one, only dense has layers");
  EXPECT_EQ(complaint({.kind = GraphKind::dense, .hidden = {8, 0}}),
            "net.graph.hidden: 0; allowed: 1 or more");
  EXPECT_EQ(complaint({.kind = GraphKind::dense, .hidden = {100'000, 100'000}}),
            "net.graph.hidden: makes 200006 neurons; allowed: at most 100000");
  EXPECT_EQ(complaint({.kind = GraphKind::dense, .hidden = std::vector<int>(32, 2147483647)}),
            "net.graph.hidden: makes 68719476710 neurons; allowed: at most 100000");
  EXPECT_EQ(complaint({.kind = GraphKind::dense, .hidden = {3'000, 3'000}}),
            "net.graph.hidden: makes 9018000 edges; allowed: at most 4000000");
  EXPECT_EQ(complaint(small_world(16'384, 16'383, .1)),
            "net.graph.hidden: makes 100749306 edges; allowed: at most 4000000");
  EXPECT_EQ(complaint(small_world(1'000'000'000, 2, .1)),
            "net.graph.hidden: makes 1000000006 neurons; allowed: at most 100000");
  EXPECT_EQ(
      complaint({.kind = GraphKind::modular, .hidden = {3'072}, .degree = 2, .modules = 1'024},
                10'000, 10'000),
      "net.graph.hidden: makes 20503071 edges; allowed: at most 4000000");
  EXPECT_EQ(complaint({.kind = GraphKind::modular, .hidden = {32}, .modules = 11}),
            "net.graph.modules: 11; allowed for 32 hidden neurons: 1 to 10");
  EXPECT_EQ(complaint({.kind = GraphKind::modular, .hidden = {32}, .degree = 8}),
            "net.graph.degree: 8; allowed for modules of 8 neurons: 2 to 7");
  EXPECT_EQ(complaint({}), "net.graph.kind: none is not a graph");
}

}  // namespace
}  // namespace hotloop
