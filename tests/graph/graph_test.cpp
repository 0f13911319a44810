#include "graph/graph.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

using Edges = std::vector<Edge>;
using Numbers = std::vector<std::int32_t>;

std::string complaint(int inputs, int hidden, int outputs, const Edges& edges,
                      const std::vector<int>& lines = {}) {
  try {
    make_graph(inputs, hidden, outputs, edges, "here", lines);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(Graph, KeepsPredecessorsAsGivenAndOrdersByLowestNumber) {
  // 5 feeds 3, so 3 comes late; 4 has no predecessors and comes first.
  const Graph graph =
      make_graph(2, 4, 1, {{5, 3}, {0, 3}, {1, 2}, {0, 5}, {2, 5}, {3, 6}, {4, 6}}, "here");
  EXPECT_EQ(graph.nodes, 7);
  EXPECT_EQ(graph.hidden(), 4);
  EXPECT_EQ(graph.edges(), 7);
  EXPECT_EQ(graph.first, (Numbers{0, 0, 0, 1, 3, 3, 5, 7}));
  EXPECT_EQ(graph.sources, (Numbers{1, 5, 0, 0, 2, 3, 4}));
  EXPECT_EQ(graph.order, (Numbers{2, 4, 5, 3, 6}));
  EXPECT_TRUE(graph.is_input(1));
  EXPECT_FALSE(graph.is_input(2));
  EXPECT_TRUE(graph.is_output(6));
  EXPECT_FALSE(graph.is_output(5));
}

TEST(Graph, NeedsNoHiddenNeuron) {
  EXPECT_EQ(make_graph(1, 0, 1, {{0, 1}}, "here").order, Numbers{1});
}

TEST(Graph, NamesUnknownNeurons) {
  EXPECT_EQ(complaint(1, 1, 1, {{0, 1}, {1, 3}}),
            "here: edge 1>3: there is no neuron 3; the 3 neurons are 0 to 2");
  EXPECT_EQ(complaint(1, 1, 1, {{-1, 1}, {1, 2}}),
            "here: edge -1>1: there is no neuron -1; the 3 neurons are 0 to 2");
}

TEST(Graph, NamesEdgesAgainstTheStream) {
  EXPECT_EQ(complaint(2, 1, 1, {{0, 1}}),
            "here: edge 0>1: neuron 1 is an input, which cannot have incoming edges");
  EXPECT_EQ(complaint(1, 1, 2, {{0, 1}, {2, 3}}),
            "here: edge 2>3: neuron 2 is an output, which cannot have outgoing edges");
}

TEST(Graph, NamesDuplicatesAndTheLineOfTheSecond) {
  const Edges edges = {{0, 1}, {1, 2}, {0, 1}};
  EXPECT_EQ(complaint(1, 1, 1, edges), "here: edge 0>1: given twice");
  EXPECT_EQ(complaint(1, 1, 1, edges, {3, 4, 9}), "here:9: edge 0>1: given twice");
}

TEST(Graph, NamesCyclesNeuronByNeuron) {
  // 3 and 10 come after the cycle, 4 before it.
  const Edges edges = {{0, 4}, {4, 7}, {7, 9}, {9, 5}, {5, 7}, {7, 3}, {3, 10}, {9, 10}};
  EXPECT_EQ(complaint(1, 9, 1, edges), "here: a cycle: 5 > 7 > 9 > 5");
  EXPECT_EQ(complaint(1, 1, 1, {{0, 1}, {1, 1}, {1, 2}}), "here: a cycle: 1 > 1");
}

TEST(Graph, NamesDeadInputsAndOutputs) {
  EXPECT_EQ(complaint(2, 2, 1, {{0, 2}, {1, 3}, {2, 4}}), "here: input 1 leads to no output");
  EXPECT_EQ(complaint(1, 2, 2, {{0, 1}, {1, 3}, {2, 4}}), "here: no input leads to output 4");
}

TEST(Graph, NeedsAnInputAndAnOutput) {
  EXPECT_NE(complaint(0, 1, 1, {{0, 1}}).find("at least one input"), std::string::npos);
  EXPECT_NE(complaint(1, 1, 0, {{0, 1}}).find("at least one input"), std::string::npos);
  EXPECT_NE(complaint(1, -1, 1, {}).find("-1 hidden"), std::string::npos);
}

// Before memory is allocated for them.
TEST(Graph, LimitsNeuronsAndEdges) {
  EXPECT_EQ(complaint(4, 1'000'000'000, 2, {}),
            "here: 4 inputs, 1000000000 hidden neurons and 2 outputs; a graph has at least one "
            "input and one output, and at most 100000 neurons");
  EXPECT_NE(complaint(2147483647, 2147483647, 2147483647, {}).find("at most 100000 neurons"),
            std::string::npos);
  EXPECT_EQ(complaint(1, 99'998, 1, {{0, 99'999}}), "none");
  EXPECT_NE(complaint(1, 99'999, 1, {{0, 100'000}}).find("at most 100000"), std::string::npos);
  EXPECT_EQ(complaint(1, 1, 1, Edges(4'000'001, Edge{0, 1})),
            "here: 4000001 edges; a graph has at most 4000000");
}

TEST(Graph, ShortensLongCycles) {
  constexpr int kHidden = 5'000;
  Edges edges = {{0, 1}, {kHidden, 1}, {kHidden, kHidden + 1}};
  for (int n = 1; n < kHidden; ++n) edges.push_back({n, n + 1});
  EXPECT_EQ(complaint(1, kHidden, 1, edges),
            "here: a cycle: 1 > 2 > 3 > 4 > 5 > 6 > 7 > 8 > 9 > 10 > 11 > 12 > 13 > 14 > 15 > 16 > "
            "17 > 18 > 19 > 20 > ... > 1 (5000 neurons)");
}

}  // namespace
}  // namespace hotloop
