// Our measures of undirected graphs against igraph, over random graphs. igraph also reads the
// GraphML that we write.
#include <gtest/gtest.h>
#include <igraph.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "graph/graph_file.hpp"
#include "graph/hidden_edges.hpp"
#include "graph/undirected.hpp"
#include "tests/graph/graph_checks.hpp"

namespace hotloop {
namespace {

class Numbers {
 public:
  explicit Numbers(const std::vector<int>& values) {
    igraph_vector_int_init(&vector_, static_cast<igraph_integer_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) VECTOR(vector_)[i] = values[i];
  }
  ~Numbers() { igraph_vector_int_destroy(&vector_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  igraph_vector_int_t* get() { return &vector_; }

 private:
  igraph_vector_int_t vector_;
};

class Igraph {
 public:
  Igraph(int nodes, const std::vector<Edge>& edges) {
    std::vector<int> ends;
    for (const Edge edge : edges) ends.insert(ends.end(), {edge.source, edge.target});
    igraph_create(&graph_, Numbers(ends).get(), nodes, IGRAPH_UNDIRECTED);
  }
  ~Igraph() { igraph_destroy(&graph_); }
  Igraph(const Igraph&) = delete;
  Igraph& operator=(const Igraph&) = delete;

  double clustering() const {
    double result = 0;
    igraph_transitivity_avglocal_undirected(&graph_, &result, IGRAPH_TRANSITIVITY_ZERO);
    return result;
  }
  double mean_path_length() const {
    double result = 0;
    igraph_average_path_length(&graph_, &result, nullptr, IGRAPH_UNDIRECTED, true);
    return result;
  }
  double modularity(const std::vector<int>& community) const {
    double result = 0;
    igraph_modularity(&graph_, Numbers(community).get(), nullptr, 1, IGRAPH_UNDIRECTED, &result);
    return result;
  }
  // The better of igraph's Louvain and Clauset-Newman-Moore.
  double best_modularity() const {
    Numbers community({});
    igraph_vector_t steps;
    igraph_vector_init(&steps, 0);
    igraph_rng_seed(igraph_rng_default(), 1);
    igraph_community_multilevel(&graph_, nullptr, 1, community.get(), nullptr, &steps);
    const double louvain = igraph_vector_max(&steps);
    igraph_community_fastgreedy(&graph_, nullptr, nullptr, &steps, community.get());
    const double greedy = igraph_vector_max(&steps);
    igraph_vector_destroy(&steps);
    return std::max(louvain, greedy);
  }

 private:
  igraph_t graph_;
};

TEST(AgainstIgraph, Measures) {
  NumpyRandom random(1);
  double ours = 0, theirs = 0;  // modularities
  for (int i = 0; i < 200; ++i) {
    const int nodes = random.below(4, 80);
    const int degree = random.below(2, std::min(nodes, 14));
    const int edges = static_cast<int>(lattice_edges(nodes, degree));
    const std::vector<Edge> list = i % 4 == 0 ? uniform_edges(nodes, edges, random)
                                   : i % 4 == 1
                                       ? uniform_edges(nodes, 1 + edges / 4, random)  // in pieces
                                   : i % 4 == 2 ? scale_free_edges(nodes, degree, random)
                                                : small_world_edges(nodes, degree, .1, random);
    SCOPED_TRACE(testing::Message() << i << ": " << nodes << " neurons, degree " << degree);
    const Neighbours graph = neighbours_of(nodes, list);
    const Igraph other(nodes, list);
    EXPECT_NEAR(clustering(graph), other.clustering(), 1e-12);
    EXPECT_NEAR(mean_path_length(graph), other.mean_path_length(), 1e-12);
    const std::vector<int> community = communities(graph);
    const double quality = modularity(graph, community);
    EXPECT_NEAR(quality, other.modularity(community), 1e-12);
    EXPECT_GT(quality, other.best_modularity() - .05);
    ours += quality;
    theirs += other.best_modularity();
  }
  EXPECT_GT(ours, .98 * theirs);
}

TEST(AgainstIgraph, ReadsOurGraphml) {
  const Graph graph = generate_graph(small_world(32, 9, .2), 4, 2);
  std::string text = to_graphml(graph);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      fmemopen(text.data(), text.size(), "r"), std::fclose);
  igraph_set_attribute_table(&igraph_cattribute_table);
  igraph_t read;
  ASSERT_EQ(igraph_read_graph_graphml(&read, file.get(), 0), IGRAPH_SUCCESS);
  EXPECT_TRUE(igraph_is_directed(&read));
  EXPECT_EQ(igraph_vcount(&read), graph.nodes);
  ASSERT_EQ(igraph_ecount(&read), graph.edges());
  int number = 0;
  for (int n = 0; n < graph.nodes; ++n) {
    EXPECT_STREQ(igraph_cattribute_VAS(&read, "role", n), graph.is_input(n)    ? "input"
                                                          : graph.is_output(n) ? "output"
                                                                               : "hidden");
    for (const int source : predecessors(graph, n)) {
      EXPECT_EQ(IGRAPH_FROM(&read, number), source);
      EXPECT_EQ(IGRAPH_TO(&read, number), n);
      ++number;
    }
  }
  igraph_destroy(&read);
}

}  // namespace
}  // namespace hotloop
