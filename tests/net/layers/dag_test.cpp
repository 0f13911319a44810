// Graphs of neurons against worked numbers, their dictionary twin, and ordinary perceptrons.
// Sections and checks are those of the topology DQN's specification.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <hotloop/rng.hpp>

#include "graph/generators.hpp"
#include "net/network.hpp"
#include "reference/dag.hpp"
#include "reference/string_dag.hpp"

namespace hotloop {
namespace {

// A network with only a graph.
Structure network_of(Graph graph, DagLayer layer) {
  layer.graph = std::make_shared<const Graph>(std::move(graph));
  layer.weight = 0;
  layer.bias = round_up(layer.graph->edges(), 16);
  Structure net{.inputs = layer.inputs(),
                .outputs = layer.outputs(),
                .layers = {layer},
                .places = {{0, layer.inputs()}},
                .outputs_at = layer.inputs()};
  net.features = layer.inputs() + layer.outputs();
  net.storage = layer.bias + round_up(layer.computed(), 16);
  net.parameters = layer.graph->edges() + layer.computed();
  return net;
}

const DagLayer& dag_of(const Structure& net) { return std::get<DagLayer>(net.layers[0]); }

// Neurons are in any order, with outputs among the others; some have no predecessors, some no
// successors.
Graph random_graph(Rng& rng, int max_hidden) {
  Graph graph;
  graph.inputs = 1 + static_cast<int>(rng.below(6));
  graph.outputs = 1 + static_cast<int>(rng.below(5));
  const int hidden = static_cast<int>(rng.below(max_hidden + 1));
  graph.nodes = graph.inputs + hidden + graph.outputs;
  graph.order.resize(hidden + graph.outputs);
  std::iota(graph.order.begin(), graph.order.end(), graph.inputs);
  const auto shuffle = [&](auto& list) {
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[rng.below(static_cast<std::uint32_t>(i))]);
  };
  shuffle(graph.order);
  std::vector<std::vector<int>> predecessors(graph.nodes);
  std::vector<int> ready(graph.inputs);
  std::iota(ready.begin(), ready.end(), 0);
  const std::uint32_t sparsity = 1 + rng.below(4);
  for (const int node : graph.order) {
    for (const int source : ready) {
      if (rng.below(sparsity) == 0) predecessors[node].push_back(source);
    }
    shuffle(predecessors[node]);
    if (!graph.is_output(node)) ready.push_back(node);
  }
  for (const auto& list : predecessors) {
    graph.first.push_back(graph.edges());
    graph.sources.insert(graph.sources.end(), list.begin(), list.end());
  }
  graph.first.push_back(graph.edges());
  return graph;
}

struct RandomDag {
  Structure net;
  std::vector<float> parameters;

  RandomDag(Rng& rng, int max_hidden)
      : net(network_of(random_graph(rng, max_hidden),
                       {.activation = static_cast<Activation>(rng.below(kActivationNames.size())),
                        .activate_outputs = rng.below(2) != 0,
                        .train_biases = rng.below(2) != 0})),
        parameters(net.storage) {
    const Graph& graph = *dag_of(net).graph;
    for (int node = graph.inputs; node < graph.nodes; ++node) {
      const double sigma = 1 / std::sqrt(1.0 + graph.first[node + 1] - graph.first[node]);
      for (int e = graph.first[node]; e < graph.first[node + 1]; ++e)
        parameters[e] = static_cast<float>(sigma * rng.normal());
      parameters[dag_of(net).bias + node - graph.inputs] = static_cast<float>(0.3 * rng.normal());
    }
  }
};

std::vector<float> random_floats(std::size_t size, Rng& rng) {
  std::vector<float> values(size);
  for (float& v : values) v = static_cast<float>(rng.normal());
  return values;
}

// Outputs of one sample: alone, and in a block of 32.
std::vector<std::vector<float>> outputs(const Structure& net, std::span<const float> parameters,
                                        const std::vector<float>& x) {
  std::vector<std::vector<float>> results;
  const Plan plan(net);
  for (const int batch : {1, 32}) {
    Workspace workspace(net, batch, Use::inference);
    std::vector<float> rows;
    for (int row = 0; row < batch; ++row) rows.insert(rows.end(), x.begin(), x.end());
    forward(plan, parameters, rows.data(), batch, workspace);
    std::vector<float> y;
    for (int o = 0; o < net.outputs; ++o) y.push_back(workspace.outputs(0)[o * kLanes + batch - 1]);
    results.push_back(y);
  }
  return results;
}

// Check 1.
TEST(Dag, HandWorkedGraph) {
  const Graph graph = make_graph(2, 2, 1, {{0, 2}, {1, 2}, {0, 3}, {2, 3}, {2, 4}, {3, 4}}, "test");
  const Structure net = network_of(graph, {.activate_outputs = true});
  std::vector<float> p(net.storage);
  const std::vector<float> weights = {0.5f, -1, 1, 2, 1, -0.5f}, biases = {0.1f, -0.2f, 0.3f};
  std::copy(weights.begin(), weights.end(), p.begin());
  std::copy(biases.begin(), biases.end(), p.begin() + dag_of(net).bias);
  for (const auto& y : outputs(net, p, {1, 2})) EXPECT_NEAR(y[0], -0.010, 1e-7);
  for (const auto& y : outputs(net, p, {2, 0.5f})) EXPECT_NEAR(y[0], -0.060, 1e-7);
  const Structure plain = network_of(graph, {.activate_outputs = false});
  for (const auto& y : outputs(plain, p, {2, 0.5f})) EXPECT_NEAR(y[0], -0.60, 1e-6);
}

// Check 2: a chain in which each negative neuron divides by ten.
TEST(Dag, HandWorkedChain) {
  const Graph graph = generate_graph(
      {.kind = GraphKind::small_world, .hidden = {5}, .degree = 2, .rewire = 0}, 1, 1);
  ASSERT_EQ(graph.edges(), 8);
  const Structure net = network_of(graph, {.activate_outputs = true});
  std::vector<float> p(net.storage);
  std::fill_n(p.begin(), 8, 0.5f);
  for (const auto& y : outputs(net, p, {1})) EXPECT_NEAR(y[0], 0.140625, 1e-7);
  for (const auto& y : outputs(net, p, {-1})) EXPECT_NEAR(y[0], -6.890625e-6, 1e-11);
}

NetOptions topology_dqn(int hidden, int degree, double rewire) {
  return {.activation = Activation::leaky_relu,
          .graph = {.kind = GraphKind::small_world,
                    .hidden = {hidden},
                    .degree = degree,
                    .rewire = rewire,
                    .seed = 47,
                    .activate_outputs = true}};
}

// Check 4, numbers of the original.
TEST(Dag, InitialValuesAndOutputsOfTheTopologyDqn) {
  const Structure net = make_mlp(4, 2, topology_dqn(32, 9, 0.2));
  EXPECT_EQ(net.describe(),
            "4-32-2 graph, 38 neurons, 172 edges, depth 30, leaky_relu, 206 parameters");
  std::vector<float> p(net.storage, 99.0f);
  initialise(net, Initialiser::small_world, 1, p);
  const DagLayer& layer = dag_of(net);
  const auto bias = [&](int node) { return p[layer.bias + node - 4]; };
  const auto weight = [&](int node, int i) {
    return p[layer.weight + layer.graph->first[node] + i];
  };
  EXPECT_NEAR(bias(4), -0.1054737, 1e-7);
  EXPECT_NEAR(bias(5), -0.0592471, 1e-7);
  EXPECT_NEAR(bias(36), 0.0374704, 1e-7);
  EXPECT_NEAR(bias(37), -0.0380330, 1e-7);
  const double to4[] = {0.1797761, -0.1012787, 0.0823623, -0.0294650};
  const double to5[] = {-0.1393727, 0.1104180, -0.0932340, -0.0943156};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(weight(4, i), to4[i], 1e-7);
    EXPECT_NEAR(weight(5, i), to5[i], 1e-7);
  }
  const std::vector<std::pair<std::vector<float>, std::vector<double>>> rows = {
      {{0, 0, 0, 0}, {0.0292987, -0.0032221}},
      {{1, 1, 1, 1}, {0.0293757, -0.0032288}},
      {{0.1f, -0.2f, 0.03f, 0.4f}, {0.0293153, -0.0032238}},
      {{-1, 2, -3, 4}, {0.0292869, -0.0032209}}};
  for (const auto& [x, q] : rows) {
    for (const auto& y : outputs(net, p, x)) {
      EXPECT_NEAR(y[0], q[0], 1e-7);
      EXPECT_NEAR(y[1], q[1], 1e-7);
    }
  }
}

TEST(Dag, TensorsAreTwoVectors) {
  const Structure net = make_mlp(4, 2, topology_dqn(64, 8, 0.1));
  const std::vector<TensorInfo> list = tensors(net);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "layer0.weight");
  EXPECT_EQ(list[0].size(), 294u);
  EXPECT_EQ(list[1].name, "layer0.bias");
  EXPECT_EQ(list[1].size(), 66u);
  EXPECT_TRUE(list[0].is_vector());
  EXPECT_EQ(net.parameters, 360u);
}

TEST(Dag, EqualityComparesGraphsByValue) {
  const NetOptions options = topology_dqn(32, 9, 0.2);
  EXPECT_EQ(make_mlp(4, 2, options), make_mlp(4, 2, options));
  NetOptions other = options;
  other.graph.rewire = 0.3;
  EXPECT_NE(make_mlp(4, 2, options), make_mlp(4, 2, other));
  other = options;
  other.graph.train_biases = false;
  EXPECT_NE(make_mlp(4, 2, options), make_mlp(4, 2, other));
}

TEST(Dag, DuelingComesAfterTheGraph) {
  NetOptions options = topology_dqn(32, 9, 0.2);
  options.dueling = true;
  const Structure net = make_mlp(4, 2, options, 3);
  ASSERT_EQ(net.layers.size(), 2u);
  EXPECT_EQ(dag_of(net).outputs(), 9);
  EXPECT_EQ(std::get<DuelingLayer>(net.layers[1]).outputs(), 6);
  EXPECT_NE(net.describe().find("4-32-6 graph, 45 neurons"), std::string::npos) << net.describe();
  EXPECT_NE(net.describe().find("leaky_relu, dueling, "), std::string::npos) << net.describe();
}

// Check 7: y = act(W y + b) layer by layer, with an activation after the last layer too.
TEST(Dag, DenseGraphsAreOrdinaryPerceptrons) {
  Rng rng(3, Purpose::test, 0, 0);
  const std::vector<std::vector<int>> shapes = {
      {3, 5, 4, 2}, {4, 64, 64, 64, 2}, {1, 1, 1}, {7, 20, 3}};
  for (const std::vector<int>& sizes : shapes) {
    const Graph graph =
        generate_graph({.kind = GraphKind::dense, .hidden = {sizes.begin() + 1, sizes.end() - 1}},
                       sizes.front(), sizes.back());
    const Structure net = network_of(graph, {.activate_outputs = true});
    std::vector<float> p(net.storage);
    initialise(net, Initialiser::pytorch, 5, p);
    const std::vector<float> x = random_floats(sizes.front(), rng);
    std::vector<double> y(x.begin(), x.end());
    for (std::size_t l = 1, node = sizes[0]; l < sizes.size(); ++l) {
      std::vector<double> next;
      for (int o = 0; o < sizes[l]; ++o, ++node) {
        double z = p[dag_of(net).bias + node - sizes[0]];
        for (int i = 0; i < sizes[l - 1]; ++i) z += p[graph.first[node] + i] * y[i];
        next.push_back(z > 0 ? z : 0.1 * z);
      }
      y = next;
    }
    for (const auto& found : outputs(net, p, x)) {
      for (int o = 0; o < sizes.back(); ++o) EXPECT_NEAR(found[o], y[o], 1e-6);
    }
  }
}

// Forward and backward of whole batches, including every width of a block.
TEST(Dag, EqualsItsDictionaryTwin) {
  Rng rng(5, Purpose::test, 0, 0);
  for (int round = 0; round < 1000; ++round) {
    const RandomDag random(rng, 24);
    const Structure& net = random.net;
    const DagLayer& layer = dag_of(net);
    const int batch = 1 + static_cast<int>(rng.below(80));
    const Plan plan(net);
    Workspace workspace(net, batch, Use::training), one(net, 1, Use::inference);
    const std::vector<float> rows = random_floats(batch * net.inputs, rng);
    const std::vector<float> dy = random_floats(batch * net.outputs, rng);
    forward(plan, random.parameters, rows.data(), batch, workspace);
    const std::vector<double> exact(random.parameters.begin(), random.parameters.end());
    std::vector<double> expected(net.storage);
    reference::Dag<double> twin(layer, exact);
    for (int row = 0; row < batch; ++row) {
      const auto x = rows.begin() + row * net.inputs;
      const std::vector<double> y = twin.forward({x, x + net.inputs});
      for (int o = 0; o < net.outputs; ++o) {
        const std::size_t lane = o * kLanes + row % kLanes;
        ASSERT_NEAR(workspace.outputs(row / kLanes)[lane], y[o], 1e-6 * (1 + std::abs(y[o])));
        workspace.output_gradient(row / kLanes)[lane] = dy[row * net.outputs + o];
      }
      const auto d = dy.begin() + row * net.outputs;
      twin.backward({d, d + net.outputs}, expected);
    }
    // A single sample takes another code path, with the same bits.
    forward(plan, random.parameters, rows.data(), 1, one);
    for (int o = 0; o < net.outputs; ++o)
      ASSERT_EQ(one.outputs(0)[o * kLanes], workspace.outputs(0)[o * kLanes]);
    std::vector<float> gradient(net.storage, 7.0f);
    backward(plan, random.parameters, batch, workspace, gradient);
    double size = 1;
    for (const double g : expected) size = std::max(size, std::abs(g));
    for (int e = 0; e < layer.graph->edges(); ++e)
      ASSERT_NEAR(gradient[e], expected[e], 2e-6 * size) << round << ", edge " << e;
    for (int b = 0; b < layer.computed(); ++b) {
      const std::size_t i = layer.bias + b;
      ASSERT_NEAR(gradient[i], expected[i], 2e-6 * size) << round << ", bias " << b;
      ASSERT_TRUE(layer.train_biases || gradient[i] == 0);
    }
  }
}

// The twin itself against central differences in double precision, inputs included.
TEST(Dag, TwinsGradientEqualsFiniteDifferences) {
  Rng rng(6, Purpose::test, 0, 0);
  double largest = 0;
  for (int round = 0; round < 200; ++round) {
    const RandomDag random(rng, 12);
    const Structure& net = random.net;
    const DagLayer& layer = dag_of(net);
    std::vector<double> p(random.parameters.begin(), random.parameters.end());
    const std::vector<float> start = random_floats(net.inputs, rng);
    const std::vector<float> dy = random_floats(net.outputs, rng);
    std::vector<double> x(start.begin(), start.end());
    const auto loss = [&] {
      const std::vector<double> y = reference::Dag<double>(layer, p).forward(x);
      return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
    };
    const auto difference = [&](double& value) {
      const double keep = value, h = 1e-6;
      value = keep + h;
      const double up = loss();
      value = keep - h;
      const double down = loss();
      value = keep;
      return (up - down) / (2 * h);
    };
    reference::Dag<double> twin(layer, p);
    twin.forward(x);
    std::vector<double> gradient(net.storage);
    const std::vector<double> dx = twin.backward({dy.begin(), dy.end()}, gradient);
    for (int i = 0; i < net.inputs; ++i) ASSERT_NEAR(dx[i], difference(x[i]), 1e-5);
    for (int e = 0; e < layer.graph->edges(); ++e) {
      ASSERT_NEAR(gradient[e], difference(p[e]), 1e-5);
      largest = std::max(largest, std::abs(gradient[e]));
    }
    for (int b = 0; b < layer.computed(); ++b) {
      const std::size_t i = layer.bias + b;
      ASSERT_NEAR(gradient[i], layer.train_biases ? difference(p[i]) : 0, 1e-5);
    }
  }
  EXPECT_GT(largest, 1);  // there was something to compare
}

// The twin that benchmarks use: another implementation of the same sums.
TEST(Dag, ForwardEqualsStringsAndDictionaries) {
  Rng rng(28, Purpose::test, 0, 0);
  constexpr int kBatch = 7;
  for (int round = 0; round < 50; ++round) {
    const RandomDag random(rng, 40);
    const std::vector<float> rows = random_floats(std::size_t{kBatch} * random.net.inputs, rng);
    Workspace workspace(random.net, kBatch, Use::inference);
    forward(Plan(random.net), random.parameters, rows.data(), kBatch, workspace);
    const auto y = reference::StringDag(dag_of(random.net), random.parameters).forward(rows);
    for (int o = 0; o < random.net.outputs; ++o) {
      for (int row = 0; row < kBatch; ++row) {
        ASSERT_NEAR(workspace.outputs(0)[o * kLanes + row], y[o][row],
                    1e-5 * (1 + std::abs(y[o][row])));
      }
    }
  }
}

// For every edge: in = predecessors of its target, out = successors of its source.
TEST(Dag, InitialisersUseTheNumberOfPredecessors) {
  const Structure net = make_mlp(4, 2, topology_dqn(500, 60, 0.5));
  const DagLayer& layer = dag_of(net);
  const Graph& graph = *layer.graph;
  std::vector<int> successors(graph.nodes);
  for (const int source : graph.sources) ++successors[source];
  // Mean square of the drawn values over the expected one.
  const auto mean_square = [&](Initialiser init, auto&& variance) {
    std::vector<float> p(net.storage, 99.0f);
    initialise(net, init, 5, p);
    double sum = 0;
    for (int node = graph.inputs; node < graph.nodes; ++node) {
      const int in = graph.first[node + 1] - graph.first[node];
      for (int e = graph.first[node]; e < graph.first[node + 1]; ++e)
        sum += p[layer.weight + e] * p[layer.weight + e] /
               variance(in, successors[graph.sources[e]]) / graph.edges();
      const float bias = p[layer.bias + node - graph.inputs];
      if (init == Initialiser::pytorch) {
        EXPECT_LE(std::abs(bias), 1 / std::sqrt(in));
        EXPECT_NE(bias, 0);
      } else {
        EXPECT_EQ(bias, 0);
      }
    }
    return sum;
  };
  EXPECT_NEAR(mean_square(Initialiser::pytorch, [](int in, int) { return 1.0 / in / 3; }), 1, 0.03);
  EXPECT_NEAR(mean_square(Initialiser::he, [](int in, int) { return 2.0 / in; }), 1, 0.04);
  EXPECT_NEAR(mean_square(Initialiser::glorot, [](int in, int out) { return 2.0 / (in + out); }), 1,
              0.03);
  std::vector<float> he(net.storage), orthogonal(net.storage);
  initialise(net, Initialiser::he, 5, he);
  initialise(net, Initialiser::orthogonal, 5, orthogonal);
  EXPECT_EQ(he, orthogonal);
}

}  // namespace
}  // namespace hotloop
