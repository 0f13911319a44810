#include "net/network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <hotloop/rng.hpp>

#include "reference/network.hpp"

namespace hotloop {
namespace {

std::vector<float> random_floats(std::size_t size, Rng& rng) {
  std::vector<float> values(size);
  for (float& v : values) v = static_cast<float>(rng.normal());
  return values;
}

template <class To>
std::vector<To> convert(std::span<const float> values) {
  return {values.begin(), values.end()};
}

struct Case {
  int inputs, outputs, batch;
  NetOptions options;
};

class NetworkTest : public testing::TestWithParam<Activation> {};

// Forward and backward against the naive network in double precision, over random shapes.
TEST_P(NetworkTest, EqualsItsSlowTwin) {
  Rng rng(7, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 25; ++round) {
    Case c{.inputs = 1 + static_cast<int>(rng.below(20)),
           .outputs = 1 + static_cast<int>(rng.below(6)),
           .batch = 1 + static_cast<int>(rng.below(100)),
           .options = {.hidden = {}, .activation = GetParam()}};
    for (std::uint32_t l = rng.below(4); l > 0; --l)
      c.options.hidden.push_back(1 + static_cast<int>(rng.below(50)));
    const Structure net = make_mlp(c.inputs, c.outputs, c.options);
    std::vector<float> parameters(net.storage);
    initialise(net, Initialiser::he, 3 + round, parameters);
    const Plan plan(net);
    Workspace workspace(net, 100, Use::training);
    const std::vector<float> rows = random_floats(c.batch * c.inputs, rng);
    const std::vector<float> dy = random_floats(c.batch * c.outputs, rng);

    forward(plan, parameters, rows.data(), c.batch, workspace);
    const std::vector<double> exact = convert<double>(parameters);
    std::vector<double> expected(net.storage);
    for (int row = 0; row < c.batch; ++row) {
      const auto x =
          convert<double>({rows.data() + row * c.inputs, static_cast<std::size_t>(c.inputs)});
      const reference::Trace<double> trace = reference::forward<double>(net, exact, x);
      for (int o = 0; o < c.outputs; ++o) {
        const float found = workspace.outputs(row / kLanes)[o * kLanes + row % kLanes];
        ASSERT_NEAR(found, trace.y.back()[o], 1e-4 * (1 + std::abs(trace.y.back()[o])));
        workspace.output_gradient(row / kLanes)[o * kLanes + row % kLanes] =
            dy[row * c.outputs + o];
      }
      reference::backward<double>(
          net, exact, trace,
          convert<double>({dy.data() + row * c.outputs, static_cast<std::size_t>(c.outputs)}),
          expected);
    }
    for (int lane = c.batch; lane < block_count(c.batch) * kLanes; ++lane) {
      for (int o = 0; o < c.outputs; ++o)
        workspace.output_gradient(lane / kLanes)[o * kLanes + lane % kLanes] = 0;
    }
    std::vector<float> gradient(net.storage);
    backward(plan, parameters, c.batch, workspace, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], expected[i], 2e-4 * (1 + std::abs(expected[i])))
          << net.describe() << " parameter " << i;
    }
  }
}

// The slow twin itself against central differences in double precision, so that the chain
// fast -> twin -> definition of the derivative is closed.
TEST_P(NetworkTest, SlowTwinsGradientEqualsFiniteDifferences) {
  const Structure net = make_mlp(4, 2, {.hidden = {64, 16}, .activation = GetParam()});
  std::vector<float> start(net.storage);
  initialise(net, Initialiser::pytorch, 11, start);
  std::vector<double> p = convert<double>(start);
  const std::vector<double> x = {0.3, -1.2, 0.7, 0.1};
  const std::vector<double> dy = {1.0, -2.0};
  const auto loss = [&] {
    const auto y = reference::forward<double>(net, p, x).y.back();
    return dy[0] * y[0] + dy[1] * y[1];
  };
  std::vector<double> gradient(net.storage);
  reference::backward<double>(net, p, reference::forward<double>(net, p, x), dy, gradient);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double keep = p[i], h = 1e-6;
    p[i] = keep + h;
    const double up = loss();
    p[i] = keep - h;
    const double down = loss();
    p[i] = keep;
    const bool is_padding = start[i] == 0 && gradient[i] == 0;
    if (is_padding) continue;
    ASSERT_NEAR(gradient[i], (up - down) / (2 * h), 1e-4 * (1e-2 + std::abs(gradient[i]))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, NetworkTest,
                         testing::Values(Activation::linear, Activation::relu,
                                         Activation::leaky_relu, Activation::tanh, Activation::selu,
                                         Activation::gelu),
                         [](const auto& test) {
                           return std::string(kActivationNames[static_cast<int>(test.param)]);
                         });

// A row's result must not depend on which batch it is in: this is what lets threads share a batch.
// The path for a single sample adds in another order, and may differ by rounding.
TEST(Network, ARowsOutputDoesNotDependOnTheBatchAroundIt) {
  const Structure net = make_mlp(5, 3, {.hidden = {33, 64}});
  std::vector<float> parameters(net.storage);
  initialise(net, Initialiser::pytorch, 1, parameters);
  const Plan plan(net);
  Workspace many(net, 100, Use::inference), two(net, 2, Use::inference),
      one(net, 1, Use::inference);
  Rng rng(1, Purpose::test, 0, 0);
  const std::vector<float> rows = random_floats(100 * 5, rng);
  forward(plan, parameters, rows.data(), 100, many);
  for (int row = 0; row < 99; ++row) {
    forward(plan, parameters, rows.data() + row * 5, 2, two);
    forward(plan, parameters, rows.data() + row * 5, 1, one);
    for (int o = 0; o < 3; ++o) {
      const float expected = many.outputs(row / kLanes)[o * kLanes + row % kLanes];
      ASSERT_EQ(two.outputs(0)[o * kLanes], expected);
      ASSERT_NEAR(one.outputs(0)[o * kLanes], expected, 1e-5);
    }
  }
}

TEST(Network, PaddingOfTheFlatArrayKeepsZeroGradient) {
  const Structure net = make_mlp(3, 2, {.hidden = {5}});
  std::vector<float> parameters(net.storage);
  initialise(net, Initialiser::pytorch, 1, parameters);
  std::vector<bool> real(net.storage, false);
  for (const DenseLayer& layer : net.layers) {
    for (int o = 0; o < layer.out; ++o) {
      real[layer.bias + o] = true;
      for (int i = 0; i < layer.in; ++i) real[layer.weight + o * layer.stride + i] = true;
    }
  }
  EXPECT_EQ(std::count(real.begin(), real.end(), true), static_cast<long>(net.parameters));
  EXPECT_EQ(net.parameters, 3u * 5 + 5 + 5 * 2 + 2);
  const Plan plan(net);
  Workspace workspace(net, 40, Use::training);
  Rng rng(1, Purpose::test, 0, 0);
  const std::vector<float> rows = random_floats(40 * 3, rng);
  forward(plan, parameters, rows.data(), 40, workspace);
  for (int block = 0; block < 2; ++block)
    std::fill_n(workspace.output_gradient(block), 2 * kLanes, 1.0f);
  std::vector<float> gradient(net.storage, 0.0f);
  backward(plan, parameters, 40, workspace, gradient);
  for (std::size_t i = 0; i < real.size(); ++i) {
    EXPECT_TRUE(real[i] || gradient[i] == 0.0f) << i;
  }
}

}  // namespace
}  // namespace hotloop
