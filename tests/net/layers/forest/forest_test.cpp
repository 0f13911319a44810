// The graph transformer over forests against its slow twin, which computes the full attention
// (durotaxis, section 18.8 of its specification).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "reference/network.hpp"
#include "tests/allocations.hpp"
#include "tests/net/layers/forest/forests.hpp"

namespace hotloop {
namespace {

constexpr ForestShape kSmall{.nodes = 7,
                             .graph_features = 5,
                             .node_features = 4,
                             .edge_features = 3,
                             .width = 16,
                             .rounds = 3,
                             .heads = 2,
                             .groups = 4};
const std::vector<int> kSixNodes = {-1, 0, 0, 1, -1, 4};

struct Net {
  Structure structure;
  std::vector<float> parameters;
  Plan plan;

  Net(const ForestShape& shape, Rng& rng)
      : structure(forest_structure(shape)),
        parameters(random_parameters(structure, rng)),
        plan(structure) {}
  const ForestLayer& layer() const { return forest_of(structure); }

  // [batch][2 width]
  std::vector<Floats> results(const std::vector<Floats>& rows, Use use = Use::inference) const {
    Workspace workspace(structure, static_cast<int>(rows.size()), use);
    return results(rows, workspace);
  }
  std::vector<Floats> results(const std::vector<Floats>& rows, Workspace& workspace) const {
    const int batch = static_cast<int>(rows.size());
    Floats together;
    for (const Floats& row : rows) together.insert(together.end(), row.begin(), row.end());
    forward(plan, parameters, together.data(), batch, workspace);
    std::vector<Floats> all(batch, Floats(structure.outputs));
    for (int i = 0; i < batch; ++i) {
      for (int o = 0; o < structure.outputs; ++o)
        all[i][o] = workspace.outputs(i / kLanes)[o * kLanes + i % kLanes];
    }
    return all;
  }
  Floats result(const TestForest& forest, float rubbish = 0) const {
    return results({forest.row(layer(), rubbish)})[0];
  }

  // dL/dparameters from dL/dresults, after the forward pass of both.
  Floats gradient(const std::vector<Floats>& rows, const std::vector<Floats>& dy) const {
    const int batch = static_cast<int>(rows.size());
    Workspace workspace(structure, batch, Use::training);
    results(rows, workspace);
    for (int i = 0; i < batch; ++i) {
      for (int o = 0; o < structure.outputs; ++o)
        workspace.output_gradient(i / kLanes)[o * kLanes + i % kLanes] = dy[i][o];
    }
    Floats found(structure.storage);
    for (const TensorInfo& tensor : tensors(structure)) {  // all but the padding is overwritten
      for (int r = 0; r < tensor.rows; ++r)
        std::fill_n(found.begin() + tensor.offset + r * tensor.stride, tensor.columns, 1e9f);
    }
    backward(plan, parameters, batch, workspace, found);
    return found;
  }
};

std::vector<double> exact(const Floats& values) { return {values.begin(), values.end()}; }

std::vector<double> twin(const Structure& net, const std::vector<double>& p, const Floats& row) {
  return reference::forward<double>(net, p, exact(row)).y.back();
}

bool is_query_or_key(const TensorInfo& tensor) {
  return tensor.name.find(".query.") != tensor.name.npos ||
         tensor.name.find(".key.") != tensor.name.npos;
}

// Calls visit(tensor, index) for every parameter.
template <class F>
void each_parameter(const Structure& net, F&& visit) {
  for (const TensorInfo& tensor : tensors(net)) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c) visit(tensor, tensor.offset + r * tensor.stride + c);
    }
  }
}

// Forward and backward over random shapes and batches of forests of all sizes, from no node to all,
// in one block and in several.
TEST(Forest, EqualsItsSlowTwin) {
  Rng rng(11, Purpose::test, 0, 0);
  for (int round = 0; round < 12; ++round) {
    ForestShape shape{.nodes = 1 + static_cast<int>(rng.below(12)),
                      .graph_features = 1 + static_cast<int>(rng.below(20)),
                      .node_features = 1 + static_cast<int>(rng.below(12)),
                      .edge_features = 1 + static_cast<int>(rng.below(9)),
                      .width = 8 * (1 + static_cast<int>(rng.below(6))),
                      .rounds = 1 + static_cast<int>(rng.below(4)),
                      .heads = 1 << rng.below(4),
                      .groups = static_cast<int>(rng.below(9))};
    const Net net(shape, rng);
    std::vector<Floats> rows, dy;
    const int batch = round == 0 ? 1 : 3 + static_cast<int>(rng.below(50));
    for (int i = 0; i < batch; ++i) {
      const int count = i == 0   ? shape.nodes
                        : i == 1 ? 0
                        : i == 2 ? 1
                                 : static_cast<int>(rng.below(shape.nodes + 1));
      rows.push_back(random_forest(net.layer(), count, rng).row(net.layer(), 7));
      dy.push_back(random_floats(net.structure.outputs, rng));
    }
    const std::vector<double> p = exact(net.parameters);
    const std::vector<Floats> found = net.results(rows, Use::training);
    std::vector<double> expected(net.structure.storage);
    for (int i = 0; i < batch; ++i) {
      const auto trace = reference::forward<double>(net.structure, p, exact(rows[i]));
      for (int o = 0; o < net.structure.outputs; ++o) {
        const double y = trace.y.back()[o];
        ASSERT_NEAR(found[i][o], y, 1e-5 * (0.1 + std::abs(y))) << round << " " << i << " " << o;
      }
      reference::backward<double>(net.structure, p, trace, exact(dy[i]), expected);
    }
    const Floats gradient = net.gradient(rows, dy);
    double size = 0;
    for (double g : expected) size = std::max(size, std::abs(g));
    EXPECT_GT(size, 0.01);
    for (std::size_t i = 0; i < gradient.size(); ++i)  // the padding too
      ASSERT_NEAR(gradient[i], expected[i], 2e-5 * (size + std::abs(expected[i]))) << round;
  }
}

// All parameters of a small network over six nodes. The twin has queries and keys, but its result
// does not depend on them.
TEST(Forest, TheGradientEqualsCentralDifferences) {
  Rng rng(12, Purpose::test, 0, 0);
  const Net net(kSmall, rng);
  const Floats row = forest_with(net.layer(), kSixNodes, rng).row(net.layer());
  const Floats dy = random_floats(net.structure.outputs, rng);
  std::vector<double> p = exact(net.parameters), taped(p.size());
  const auto loss = [&] {
    const auto y = twin(net.structure, p, row);
    return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
  };
  const auto trace = reference::forward<double>(net.structure, p, exact(row));
  reference::backward<double>(net.structure, p, trace, exact(dy), taped);
  const Floats fast = net.gradient({row}, {dy});
  std::string name;
  double size = 1;  // largest of the tensor
  each_parameter(net.structure, [&](const TensorInfo& tensor, std::size_t i) {
    if (tensor.name != name) {
      if (name.find(".query.") == name.npos && name.find(".key.") == name.npos) {
        EXPECT_GT(size, 1e-3) << name;
      }
      name = tensor.name, size = 0;
    }
    const double keep = p[i], h = 1e-5;
    p[i] = keep + h;
    const double up = loss();
    p[i] = keep - h;
    const double difference = (up - loss()) / (2 * h);
    p[i] = keep;
    ASSERT_NEAR(taped[i], difference, 1e-6) << tensor.name;
    ASSERT_NEAR(fast[i], difference, 1e-5) << tensor.name;
    if (is_query_or_key(tensor)) {
      ASSERT_LT(std::abs(difference), 1e-9);
      ASSERT_LT(std::abs(taped[i]), 1e-12);
      ASSERT_EQ(fast[i], 0);
    }
    size = std::max(size, std::abs(difference));
  });
}

// Queries and keys have no effect because the graph is a forest: with two edges into a node they
// do.
TEST(Forest, TheTwinDependsOnQueriesWhereTwoEdgesMeet) {
  Rng rng(13, Purpose::test, 0, 0);
  const Net net(kSmall, rng);
  const ForestLayer& layer = net.layer();
  const std::vector<double> p = exact(net.parameters);
  const TestForest forest = forest_with(layer, {-1, -1, 0}, rng);
  const std::vector<double> x = exact(forest.row(layer));
  const std::vector<double> dy = exact(random_floats(net.structure.outputs, rng));
  const auto query_gradient = [&](auto&& change) {
    std::vector<double> gradient(p.size());
    reference::add_gradient<double>(layer, p, x, dy, gradient, change);
    return std::abs(gradient[layer.rounds[0].query.weight]);
  };
  EXPECT_LT(query_gradient([](auto&) {}), 1e-12);
  EXPECT_GT(query_gradient([](auto& graph) {
              graph.edges.push_back({1, 2, {0.5, -0.5, 1}});
            }),
            1e-6);
}

TEST(Forest, GroupsSumToOne) {
  Rng rng(14, Purpose::test, 0, 0);
  ForestShape shape = kSmall;
  for (const int groups : {16, 5, 3, 1}) {  // of 16: 16, 4, 2, 1
    shape.groups = groups;
    const Net net(shape, rng);
    const int found = net.layer().groups;
    EXPECT_EQ(found, groups == 5 ? 4 : groups == 3 ? 2 : groups);
    const Floats y = net.result(random_forest(net.layer(), 6, rng));
    for (int g = 0; g < 2 * found; ++g) {
      const int size = 16 / found;
      EXPECT_NEAR(std::accumulate(y.begin() + g * size, y.begin() + (g + 1) * size, 0.0), 1, 1e-6);
    }
    const Floats none = net.result(random_forest(net.layer(), 0, rng));
    EXPECT_EQ(Floats(none.begin(), none.begin() + 16), Floats(16));
  }
}

// count * mean: the sum of the nodes' tokens.
std::vector<double> sum_of_tokens(const Net& net, const TestForest& forest) {
  std::vector<double> sum = exact(net.result(forest));
  sum.resize(net.layer().width);
  for (double& value : sum) value *= static_cast<double>(forest.parents.size());
  return sum;
}
std::vector<double> difference(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (double value : difference(a, b)) largest = std::max(largest, std::abs(value));
  return largest;
}

TestForest only(const TestForest& forest, int node) {
  return {forest.graph, {forest.nodes[node]}, {forest.edges[node]}, {-1}};
}

// Roots give the same result as alone. With an edge between two, only its source still does.
TEST(Forest, ANodeWithoutIncomingEdgeDependsOnItselfOnly) {
  Rng rng(15, Purpose::test, 0, 0);
  const Net net(kSmall, rng);
  TestForest forest = forest_with(net.layer(), {-1, -1}, rng);
  const auto alone = [&](int node) { return sum_of_tokens(net, only(forest, node)); };
  const auto second = [&] { return difference(sum_of_tokens(net, forest), alone(0)); };
  EXPECT_LT(distance(second(), alone(1)), 1e-6);
  forest.parents[1] = 0;
  EXPECT_GT(distance(second(), alone(1)), 1e-3);
  std::vector<std::vector<double>> tokens;  // of the first node, from the twin
  for (int variant = 0; variant < 2; ++variant) {
    const std::vector<double> p = exact(net.parameters);
    const auto graph = reference::token_graph(net.layer(), exact(forest.row(net.layer())));
    tokens.push_back(reference::TokenTransformer<double>(net.layer(), p).tokens(graph)[1]);
    forest.nodes[1] = random_floats(kSmall.node_features, rng);
    forest.graph = random_floats(kSmall.graph_features, rng);
  }
  EXPECT_EQ(tokens[0], tokens[1]);
  EXPECT_LT(distance(tokens[0], alone(0)), 1e-6);
}

// Section 18.8: edges 0 -> 1, 1 -> 2 send messages T1 -> T2 -> T3, one step per round, and none to
// T0.
TEST(Forest, MessagesGoFromParentToChild) {
  Rng rng(16, Purpose::test, 0, 0);
  for (const int rounds : {1, 2}) {
    ForestShape shape = kSmall;
    shape.rounds = rounds;
    const Net net(shape, rng);
    const TestForest chain = forest_with(net.layer(), {-1, 0, 1}, rng);
    TestForest other = chain;
    other.nodes[0] = random_floats(shape.node_features, rng);
    const auto without_last = [](TestForest forest) {
      forest.nodes.pop_back(), forest.edges.pop_back(), forest.parents.pop_back();
      return forest;
    };
    const auto third = [&](const TestForest& forest) {
      return difference(sum_of_tokens(net, forest), sum_of_tokens(net, without_last(forest)));
    };
    const auto second = [&](const TestForest& forest) {
      const TestForest two = without_last(forest);
      return difference(sum_of_tokens(net, two), sum_of_tokens(net, without_last(two)));
    };
    EXPECT_GT(distance(second(chain), second(other)), 1e-3);
    if (rounds == 1) {
      EXPECT_LT(distance(third(chain), third(other)), 1e-6);
    } else {
      EXPECT_GT(distance(third(chain), third(other)), 1e-4);
    }
    const Floats a = net.result(chain), b = net.result(other);
    EXPECT_EQ(Floats(a.begin() + 16, a.end()), Floats(b.begin() + 16, b.end()));
    TestForest edge = chain;  // an edge matters only to its target; a root has none
    edge.edges[0] = random_floats(shape.edge_features, rng);
    EXPECT_EQ(net.result(edge), a);
    edge.edges[1] = random_floats(shape.edge_features, rng);
    EXPECT_GT(distance(second(chain), second(edge)), 1e-3);
  }
}

TEST(Forest, TheOrderOfNodesDoesNotMatter) {
  Rng rng(17, Purpose::test, 0, 0);
  const Net net(kSmall, rng);
  for (int count = 2; count <= kSmall.nodes; ++count) {
    const TestForest forest = random_forest(net.layer(), count, rng);
    const Floats y = net.result(forest);
    const Floats other = net.result(forest.permuted(random_order(count, rng)));
    EXPECT_LT(distance(exact(y), exact(other)), 1e-6);
  }
}

TEST(Forest, AbsentNodesAndNonFiniteValuesDoNotMatter) {
  Rng rng(18, Purpose::test, 0, 0);
  const Net net(kSmall, rng);
  const TestForest forest = random_forest(net.layer(), 4, rng);
  const Floats y = net.result(forest);
  EXPECT_EQ(net.result(forest, 3), y);
  EXPECT_EQ(net.result(forest, std::numeric_limits<float>::quiet_NaN()), y);
  TestForest broken = forest, zero = forest;  // non-finite values count as zero
  broken.nodes[1][2] = std::numeric_limits<float>::infinity();
  broken.graph[3] = std::numeric_limits<float>::quiet_NaN();
  zero.nodes[1][2] = zero.graph[3] = 0;
  EXPECT_EQ(net.result(broken), net.result(zero));
}

// To the bit, in blocks and alone, in training and inference.
TEST(Forest, ABatchEqualsItsSamplesOneByOne) {
  Rng rng(19, Purpose::test, 0, 0);
  for (const int width : {16, 40, 128}) {
    ForestShape shape = kSmall;
    shape.width = width, shape.nodes = 40;
    const Net net(shape, rng);
    std::vector<Floats> rows;
    for (int i = 0; i < 64; ++i) {
      const int count = static_cast<int>(rng.below(shape.nodes + 1));
      rows.push_back(random_forest(net.layer(), count, rng).row(net.layer()));
    }
    const std::vector<Floats> together = net.results(rows);
    EXPECT_EQ(net.results(rows, Use::training), together);
    for (int i = 0; i < 64; ++i) {
      ASSERT_EQ(net.results({rows[i]})[0], together[i]) << width << " " << i;
      ASSERT_EQ(net.results({rows[i]}, Use::training)[0], together[i]) << width << " " << i;
    }
  }
}

TEST(Forest, NothingIsAllocated) {
  if (!kCountsAllocations) GTEST_SKIP();
  Rng rng(20, Purpose::test, 0, 0);
  const Net net(kSmall, rng);
  Floats rows;
  for (int i = 0; i < 40; ++i) {
    const Floats row = random_forest(net.layer(), i % 8, rng).row(net.layer());
    rows.insert(rows.end(), row.begin(), row.end());
  }
  Workspace workspace(net.structure, 40, Use::training), one(net.structure, 1, Use::inference);
  Floats gradient(net.structure.storage);
  const std::int64_t before = allocations();
  forward(net.plan, net.parameters, rows.data(), 40, workspace);
  backward(net.plan, net.parameters, 40, workspace, gradient);
  forward(net.plan, net.parameters, rows.data(), 1, one);
  EXPECT_EQ(allocations(), before);
}

// Embeddings use the initialiser; rounds start like torch.nn.Linear, with |w| up to 1/sqrt(16);
// norms start as the identity.
TEST(Forest, InitialValues) {
  Rng rng(21, Purpose::test, 0, 0);
  const Structure net = forest_structure(kSmall);
  Floats p(net.storage);
  initialise(net, Initialiser::glorot, 5, p);
  for (const TensorInfo& tensor : tensors(net)) {
    double largest = 0;
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c)
        largest = std::max<double>(largest, std::abs(p[tensor.offset + r * tensor.stride + c]));
    }
    const bool in_round = tensor.name.find(".round") != tensor.name.npos;
    double bound = in_round ? 0.25 : std::sqrt(6.0 / (tensor.rows + tensor.columns));
    if (tensor.is_vector() && !in_round) bound = 0;
    if (tensor.name.ends_with("scale")) bound = 1;
    if (tensor.name.ends_with("shift")) bound = 0;
    EXPECT_LE(largest, bound) << tensor.name;
    EXPECT_GE(largest, 0.7 * bound) << tensor.name;
  }
  const ForestLayer& layer = forest_of(net);
  EXPECT_NE(p[layer.rounds[0].query.weight], p[layer.rounds[0].key.weight]);
  EXPECT_NE(p[layer.rounds[0].edge], p[layer.rounds[1].edge]);
}

}  // namespace
}  // namespace hotloop
