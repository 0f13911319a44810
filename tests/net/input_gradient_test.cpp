// dL/dX, the gradient with respect to the inputs: fast against slow twin, twin against finite
// differences, over networks of every kind of layer.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "net/network.hpp"
#include "reference/network.hpp"
#include "tests/allocations.hpp"
#include "tests/net/layers/forest/forests.hpp"
#include "tests/net/random_net.hpp"

namespace hotloop {
namespace {

using Doubles = std::vector<double>;

// A network with parameters, and a batch that passes through it.
struct Pass {
  const Structure& net;
  Floats parameters;
  Floats rows;  // [batch, inputs]
  Floats dy;    // [batch, outputs]
  bool scaled = false;
  Floats mean, factor;
  Plan plan{net};

  Pass(const Structure& structure, Floats p, Floats x, Rng& rng)
      : net(structure),
        parameters(std::move(p)),
        rows(std::move(x)),
        dy(random_floats(static_cast<std::size_t>(batch()) * net.outputs, rng)),
        mean(net.inputs, 0.0f),
        factor(net.inputs, 1.0f) {}

  int batch() const { return static_cast<int>(rows.size()) / net.inputs; }
  std::span<const float> row(int i) const {
    return std::span(rows).subspan(static_cast<std::size_t>(i) * net.inputs, net.inputs);
  }
  Doubles row_dy(int i) const {
    const auto first = dy.begin() + static_cast<std::ptrdiff_t>(i) * net.outputs;
    return {first, first + net.outputs};
  }
  void scale_inputs(Rng& rng) {
    scaled = true;
    mean = random_floats(net.inputs, rng), factor = random_floats(net.inputs, rng);
  }

  // Forward pass of rows [first, last) of the batch; sets their output gradients.
  void forward_rows(int first, int last, Workspace& workspace) const {
    const InputScale scale{mean.data(), factor.data()};
    const int count = last - first;
    forward(plan, parameters, row(first).data(), count, workspace, scaled ? &scale : nullptr);
    for (int lane = 0; lane < block_count(count) * kLanes; ++lane) {
      for (int o = 0; o < net.outputs; ++o) {
        workspace.output_gradient(lane / kLanes)[o * kLanes + lane % kLanes] =
            lane < count ? dy[(first + lane) * net.outputs + o] : 0.0f;
      }
    }
  }
  // dL/dX [rows, inputs]; dL/dparameters too if that is not empty.
  Floats input_gradient(int first, int last, Workspace& workspace,
                        std::span<float> gradient = {}) const {
    const InputScale scale{mean.data(), factor.data()};
    forward_rows(first, last, workspace);
    backward_to_inputs(plan, parameters, last - first, workspace, scaled ? &scale : nullptr,
                       gradient);
    Floats dx;
    for (int i = 0; i < last - first; ++i) {
      for (int f = 0; f < net.inputs; ++f)
        dx.push_back(workspace.input_gradient(i / kLanes)[f * kLanes + i % kLanes]);
    }
    return dx;
  }
  Floats input_gradient() const {
    Workspace workspace(net, batch(), Use::input_gradients);
    return input_gradient(0, batch(), workspace);
  }

  // One row, by the slow twin in double precision.
  Doubles twin(int i) const {
    const Doubles p(parameters.begin(), parameters.end());
    const Doubles x = reference::scale_input<double>(row(i), mean, factor);
    Doubles gradient(net.storage);
    const Doubles dx = reference::backward<double>(net, p, reference::forward<double>(net, p, x),
                                                   row_dy(i), gradient);
    return reference::unscale_gradient<double>(row(i), mean, factor, dx);
  }
};

// `x` [batch, inputs] through a network with random parameters.
Pass random_pass(const Structure& net, Floats x, Rng& rng) {
  return Pass(net, random_parameters(net, rng), std::move(x), rng);
}
Floats random_rows(const Structure& net, int batch, Rng& rng) {
  return random_floats(static_cast<std::size_t>(batch) * net.inputs, rng);
}

// Within 1e-4 of the largest gradient of a row, or of `floor`: the terms of the sums cancel.
void expect_twin(const Pass& pass, double floor = 1) {
  SCOPED_TRACE(pass.net.describe());
  const Floats found = pass.input_gradient();
  for (int i = 0; i < pass.batch(); ++i) {
    const Doubles expected = pass.twin(i);
    double size = floor;
    for (const double d : expected) size = std::max(size, std::abs(d));
    for (int f = 0; f < pass.net.inputs; ++f) {
      ASSERT_NEAR(found[i * pass.net.inputs + f], expected[f], 1e-4 * size)
          << "row " << i << ", input " << f;
    }
  }
}

// L of one row by the twin; `x` is what its layers read.
double loss_of(const Pass& pass, const Doubles& x, int i) {
  const Doubles p(pass.parameters.begin(), pass.parameters.end()), dy = pass.row_dy(i);
  const Doubles features = reference::forward<double>(pass.net, p, x).features;
  return std::inner_product(dy.begin(), dy.end(), features.begin() + pass.net.outputs_at, 0.0);
}

// The twin's gradient of one row; returns the size of the largest.
double expect_finite_differences(const Pass& pass, int i) {
  Doubles x(pass.row(i).begin(), pass.row(i).end());
  const auto loss = [&] {
    Doubles scaled = x;
    for (std::size_t f = 0; f < x.size(); ++f)
      scaled[f] = std::clamp((x[f] - pass.mean[f]) * pass.factor[f], -10.0, 10.0);
    return loss_of(pass, scaled, i);
  };
  const Doubles dx = pass.twin(i);
  double size = 0;
  for (std::size_t f = 0; f < x.size(); ++f) {
    const double keep = x[f], h = 1e-6;
    x[f] = keep + h;
    const double up = loss();
    x[f] = keep - h;
    const double down = loss();
    x[f] = keep;
    EXPECT_NEAR(dx[f], (up - down) / (2 * h), 1e-4 * (1e-2 + std::abs(dx[f])))
        << pass.net.describe() << " input " << f;
    size = std::max(size, std::abs(dx[f]));
  }
  return size;
}

class InputGradientTest : public testing::TestWithParam<Activation> {};

TEST_P(InputGradientTest, EqualsItsSlowTwin) {
  Rng rng(41, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 60; ++round) {
    const RandomNet random(GetParam(), 50, rng);
    const int batch = round % 4 == 0 ? 1 : 1 + static_cast<int>(rng.below(100));
    Pass pass(random.structure, random.parameters, random_rows(random.structure, batch, rng), rng);
    if (rng.below(2) != 0) pass.scale_inputs(rng);
    expect_twin(pass);
  }
}

TEST_P(InputGradientTest, SlowTwinEqualsFiniteDifferences) {
  Rng rng(42, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  double size = 0;
  for (int round = 0; round < 30; ++round) {
    const RandomNet random(GetParam(), 12, rng);
    Pass pass(random.structure, random.parameters, random_rows(random.structure, 1, rng), rng);
    if (rng.below(2) != 0) pass.scale_inputs(rng);
    size = std::max(size, expect_finite_differences(pass, 0));
  }
  EXPECT_GT(size, 0.1);  // there was something to compare
}

INSTANTIATE_TEST_SUITE_P(Activations, InputGradientTest,
                         testing::Values(Activation::linear, Activation::relu,
                                         Activation::leaky_relu, Activation::tanh, Activation::selu,
                                         Activation::gelu),
                         [](const auto& test) {
                           return std::string(kActivationNames[static_cast<int>(test.param)]);
                         });

// Constants, copies, and two paths from the inputs.
TEST(InputGradient, OfActorCritics) {
  Rng rng(43, Purpose::test, 0, 0);
  const ActorCriticShape shape{.policy = 3, .free = 2, .free_initial = 0.5f, .values = 2};
  const NetOptions plain{.hidden = {9, 7}, .activation = Activation::tanh};
  NetOptions separate = plain, graph = plain, normed = plain;
  separate.separate = true;
  normed.layer_norm = true;
  graph.graph = {.kind = GraphKind::small_world, .hidden = {12}, .degree = 4};
  for (const NetOptions& options : {plain, separate, normed, graph}) {
    const Structure net = make_actor_critic(5, shape, options);
    const Pass pass = random_pass(net, random_rows(net, 37, rng), rng);
    expect_twin(pass);
    EXPECT_GT(expect_finite_differences(pass, 0), 1e-3);
  }
}

const std::vector<InputPart> kForestParts = {
    {"graph", 1, 5}, {"nodes", 7, 4}, {"edges", 7, 3}, {"parents", 1, 7}};
const std::vector<std::string> kForestNames = {"graph", "nodes", "edges", "parents"};

// A forest and another branch that also reads its graph features.
Structure forest_network() {
  const NetOptions options{
      .branches = {{"tokens", kForestNames, {"forest 16 rounds 2 heads 2 groups 4", "flatten"}},
                   {"facts", {"graph"}, {"dense 6 tanh"}},
                   {"all", {"tokens", "facts"}, {}}},
      .hidden = {8},
      .activation = Activation::tanh};
  return make_mlp(5 + 7 * 4 + 7 * 3 + 7, 3, options, 1, {}, kForestParts);
}

TEST(InputGradient, OfForests) {
  Rng rng(44, Purpose::test, 0, 0);
  const Structure net = forest_network();
  const ForestLayer& layer = forest_of(net);
  Floats rows;
  for (int i = 0; i < 40; ++i) {
    const TestForest forest = random_forest(layer, i % (layer.nodes + 1), rng);
    const Floats row = forest.row(layer, 7);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const Pass pass = random_pass(net, rows, rng);
  expect_twin(pass, 1e-3);
  const Floats dx = pass.input_gradient();
  double nodes = 0, edges = 0;
  for (int i = 0; i < 40; ++i) {
    const int count = i % (layer.nodes + 1);
    const float* row = &dx[i * net.inputs];
    for (int node = 0; node < layer.nodes; ++node) {
      EXPECT_EQ(row[layer.parents_at() + node], 0);  // an index
      const float *d_node = row + layer.nodes_at() + node * 4,
                  *d_edge = row + layer.edges_at() + node * 3;
      const bool root = node < count && pass.row(i)[layer.parents_at() + node] < 0;
      for (int f = 0; f < 4; ++f) {
        nodes += std::abs(d_node[f]);
        if (node >= count) {
          EXPECT_EQ(d_node[f], 0) << "there is no node " << node;
        }
      }
      for (int f = 0; f < 3; ++f) {
        edges += std::abs(d_edge[f]);
        if (node >= count || root) {
          EXPECT_EQ(d_edge[f], 0);
        }
      }
    }
  }
  EXPECT_GT(nodes, 0.1);
  EXPECT_GT(edges, 0.1);
}

// Indices cannot change by a small amount, so only the other inputs do.
TEST(InputGradient, OfForestsEqualsFiniteDifferences) {
  Rng rng(45, Purpose::test, 0, 0);
  const Structure net = forest_network();
  const ForestLayer& layer = forest_of(net);
  for (const int count : {0, 1, 6, 7}) {
    const Floats row = random_forest(layer, count, rng).row(layer);
    const Pass pass = random_pass(net, row, rng);
    const Doubles dx = pass.twin(0);
    Doubles x(row.begin(), row.end());
    const auto loss = [&] { return loss_of(pass, x, 0); };
    for (int f = 0; f < layer.parents_at(); ++f) {
      const double keep = x[f], h = 1e-6;
      x[f] = keep + h;
      const double up = loss();
      x[f] = keep - h;
      const double down = loss();
      x[f] = keep;
      ASSERT_NEAR(dx[f], (up - down) / (2 * h), 1e-4 * (1e-2 + std::abs(dx[f]))) << f;
    }
  }
}

TEST(InputGradient, IsZeroWhereAForestReplacesNonFiniteInputs) {
  Rng rng(46, Purpose::test, 0, 0);
  const Structure net = forest_network();
  const ForestLayer& layer = forest_of(net);
  Floats row = random_forest(layer, 3, rng).row(layer);
  row[layer.nodes_at() + 1] = std::numeric_limits<float>::infinity();
  const Floats dx = random_pass(net, row, rng).input_gradient();
  EXPECT_EQ(dx[layer.nodes_at() + 1], 0);
  EXPECT_NE(dx[layer.nodes_at()], 0);
}

// y = 2 a - 3 b + 5 c of (x - mean) * factor = (0.5, 100 -> 10, -100 -> -10).
TEST(InputGradient, GoesThroughTheScaleAndStopsWhereItClamps) {
  const Structure net = make_mlp(3, 1, {.hidden = {}});
  Floats parameters(net.storage);
  const auto& layer = std::get<DenseLayer>(net.layers[0]);
  const float weight[] = {2, -3, 5}, mean[] = {1, 2, 3}, factor[] = {0.5f, 100, 100};
  std::copy_n(weight, 3, &parameters[layer.weight]);
  const InputScale scale{mean, factor};
  const float rows[] = {2, 3, 2, 1, 2.05f, 3};  // the second row is within the bounds
  const Plan plan(net);
  Workspace workspace(net, 2, Use::input_gradients);
  forward(plan, parameters, rows, 2, workspace, &scale);
  std::fill_n(workspace.output_gradient(0), kLanes, 0.0f);
  workspace.output_gradient(0)[0] = 1, workspace.output_gradient(0)[1] = 10;
  backward_to_inputs(plan, parameters, 2, workspace, &scale);
  const float* dx = workspace.input_gradient(0);
  EXPECT_EQ(dx[0], 1);
  EXPECT_EQ(dx[kLanes], 0);
  EXPECT_EQ(dx[2 * kLanes], 0);
  EXPECT_EQ(dx[1], 10);
  EXPECT_EQ(dx[kLanes + 1], -3000);
  EXPECT_EQ(dx[2 * kLanes + 1], 5000);
}

// Part b is not read by any layer.
TEST(InputGradient, IsZeroForInputsThatNoLayerReads) {
  Rng rng(47, Purpose::test, 0, 0);
  const std::vector<InputPart> parts = {{"a", 1, 2}, {"b", 1, 3}, {"c", 1, 2}};
  const Structure net =
      make_mlp(7, 2, {.branches = {{"all", {"a", "c"}, {}}}, .hidden = {4}}, 1, {}, parts);
  const Pass pass = random_pass(net, random_rows(net, 33, rng), rng);
  expect_twin(pass);
  Workspace workspace(net, 33, Use::input_gradients);
  std::fill_n(workspace.delta(0), 7 * kLanes, 99.0f);  // leftovers
  const Floats dx = pass.input_gradient(0, 33, workspace);
  for (int i = 0; i < 33; ++i) {
    for (int f = 2; f < 5; ++f) EXPECT_EQ(dx[i * 7 + f], 0);
  }
}

// The gradient of the parameters has the bits of `backward`; the gradient of the inputs has the
// same bits with and without it.
TEST(InputGradient, DoesNotChangeTheParameterGradient) {
  Rng rng(48, Purpose::test, 0, 0);
  const auto check = [&](const Pass& pass) {
    SCOPED_TRACE(pass.net.describe());
    const int batch = pass.batch();
    Workspace training(pass.net, batch, Use::training), both(pass.net, batch, Use::input_gradients);
    Floats expected(pass.net.storage), found(pass.net.storage, 0.0f), untouched = found;
    pass.forward_rows(0, batch, training);
    backward(pass.plan, pass.parameters, batch, training, expected);
    const Floats dx = pass.input_gradient(0, batch, both, found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(pass.input_gradient(0, batch, both), dx);
    EXPECT_EQ(pass.input_gradient(), dx);
    // The same workspace for the parameters alone, as in a critic.
    pass.forward_rows(0, batch, both);
    backward(pass.plan, pass.parameters, batch, both, untouched);
    EXPECT_EQ(untouched, expected);
  };
  for (int round = 0; round < 60; ++round) {
    const RandomNet random(static_cast<Activation>(round % kActivationNames.size()), 50, rng);
    const int batch = 1 + static_cast<int>(rng.below(70));
    Pass pass(random.structure, random.parameters, random_rows(random.structure, batch, rng), rng);
    if (rng.below(2) != 0) pass.scale_inputs(rng);
    check(pass);
  }
  const Structure net = forest_network();
  Floats rows;
  for (int i = 0; i < 40; ++i) {
    const Floats row = random_forest(forest_of(net), i % 8, rng).row(forest_of(net));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  check(random_pass(net, rows, rng));
}

// In every batch, with full blocks or not, a row has the same gradient as alone.
TEST(InputGradient, OfARowDoesNotDependOnTheBatchAroundIt) {
  Rng rng(49, Purpose::test, 0, 0);
  for (int round = 0; round < 30; ++round) {
    const RandomNet random(static_cast<Activation>(round % kActivationNames.size()), 50, rng);
    const Structure& net = random.structure;
    Pass pass(net, random.parameters, random_rows(net, 75, rng), rng);
    if (rng.below(2) != 0) pass.scale_inputs(rng);
    Workspace workspace(net, 75, Use::input_gradients);
    const Floats all = pass.input_gradient(0, 75, workspace);
    for (const int count : {1, 7, 8, 31, 32, 33, 64}) {
      const int first = static_cast<int>(rng.below(75 - count + 1));
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first) * net.inputs;
      ASSERT_EQ(pass.input_gradient(first, first + count, workspace),
                Floats(begin, begin + static_cast<std::ptrdiff_t>(count) * net.inputs))
          << net.describe() << ", " << count << " rows from " << first;
    }
  }
}

TEST(InputGradient, AllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  Rng rng(50, Purpose::test, 0, 0);
  const auto check = [&](const Pass& pass) {
    Workspace workspace(pass.net, pass.batch(), Use::input_gradients);
    Floats gradient(pass.net.storage);
    const InputScale scale{pass.mean.data(), pass.factor.data()};
    pass.forward_rows(0, pass.batch(), workspace);
    const std::int64_t before = allocations();
    backward_to_inputs(pass.plan, pass.parameters, pass.batch(), workspace, &scale);
    backward_to_inputs(pass.plan, pass.parameters, pass.batch(), workspace, &scale, gradient);
    ASSERT_EQ(allocations(), before) << pass.net.describe();
  };
  for (int round = 0; round < 20; ++round) {
    const RandomNet random(static_cast<Activation>(round % kActivationNames.size()), 100, rng);
    check(Pass(random.structure, random.parameters, random_rows(random.structure, 50, rng), rng));
  }
  const Structure net = forest_network();
  check(random_pass(net, Floats(40 * net.inputs, -1.0f), rng));
}

}  // namespace
}  // namespace hotloop
