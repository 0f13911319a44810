#include "draw/graph_picture.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <hotloop/error.hpp>

#include "graph/generators.hpp"

namespace hotloop {
namespace {

// By hand: one input, five hidden neurons in a chain, one output, as in check 2 of the topology
// DQN's specification. The input leads to 1 and 2; 4 and 5 lead to the output.
TEST(GraphPicture, FiveRows) {
  const Graph graph = generate_graph(
      {.kind = GraphKind::lattice, .hidden = {5}, .degree = 2, .rewire = 0, .seed = 1}, 1, 1);
  EXPECT_EQ(picture_rows(graph), (std::vector<int>{0, 1, 1, 2, 3, 3, 4}));
}

TEST(GraphPicture, ANeuronOfTwoRowsIsInTheLower) {
  const Graph graph = make_graph(1, 1, 1, {{0, 1}, {1, 2}}, "test");
  EXPECT_EQ(picture_rows(graph), (std::vector<int>{0, 3, 4}));
}

// 100,000 neurons side by side would be gigabytes of pixels.
TEST(GraphPicture, RefusesLargeGraphs) {
  const Graph graph = make_graph(1, 2'001, 1, {{0, 2'002}}, "test");
  const std::vector<float> weights(1), biases(2'002);
  try {
    graph_picture(graph, weights, biases);
    FAIL() << "it was drawn";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "the graph is too large for a picture: 2001 neurons in a row and 1 edges; allowed: "
        "up to 2000 and 100000");
  }
  const Graph fits = make_graph(1, 2'000, 1, {{0, 2'001}}, "test");
  EXPECT_GT(graph_picture(fits, weights, biases).width, 70'000);
}

TEST(GraphPicture, HasALineForEveryEdgeAndADiscForEveryNeuron) {
  const Graph graph = make_graph(2, 2, 1, {{0, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}}, "test");
  const std::vector<float> weights = {1, -1, 0, 0.5f, 0.25f};
  const std::vector<float> biases = {0, 0.1f, -0.1f};
  const std::string path = testing::TempDir() + "graph.svg";
  write_graph_picture(path, graph, weights, biases);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const auto count = [svg = text.str()](std::string_view what) {
    int found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("<circle"), 5);
  EXPECT_EQ(count("<line"), 5 + 2 * 81 * 3);  // the two colour scales consist of lines
  EXPECT_GE(count("#b2182b"), 1);             // the largest weight is red
  EXPECT_GE(count("#2166ac"), 1);             // the smallest blue
  EXPECT_THROW(write_graph_picture(testing::TempDir() + "graph.pdf", graph, weights, biases),
               UsageError);
}

}  // namespace
}  // namespace hotloop
