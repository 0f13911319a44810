#include "net/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <hotloop/rng.hpp>

#include "reference/network.hpp"
#include "tests/allocations.hpp"
#include "tests/net/random_net.hpp"

namespace hotloop {
namespace {

class NetworkTest : public testing::TestWithParam<Activation> {};

// Forward and backward against the naive network in double precision, over random structures and
// batches, with and without normalised inputs.
TEST_P(NetworkTest, EqualsItsSlowTwin) {
  Rng rng(7, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 60; ++round) {
    const RandomNet random(GetParam(), 50, rng);
    const Structure& net = random.structure;
    const int batch = 1 + static_cast<int>(rng.below(100));
    const Plan plan(net);
    Workspace workspace(net, 100, Use::training);
    const std::vector<float> rows = random_floats(batch * net.inputs, rng);
    const std::vector<float> dy = random_floats(batch * net.outputs, rng);
    std::vector<float> mean(net.inputs, 0.0f), factor(net.inputs, 1.0f);
    const bool scaled = rng.below(2) != 0;
    if (scaled) mean = random_floats(net.inputs, rng), factor = random_floats(net.inputs, rng);
    const InputScale scale{mean.data(), factor.data()};

    forward(plan, random.parameters, rows.data(), batch, workspace, scaled ? &scale : nullptr);
    const std::vector<double> exact = convert<double>(random.parameters);
    std::vector<double> expected(net.storage);
    for (int row = 0; row < batch; ++row) {
      const auto x = reference::scale_input<double>(
          std::span(rows).subspan(row * net.inputs, net.inputs), mean, factor);
      const reference::Trace<double> trace = reference::forward<double>(net, exact, x);
      for (int o = 0; o < net.outputs; ++o) {
        const float found = workspace.outputs(row / kLanes)[o * kLanes + row % kLanes];
        ASSERT_NEAR(found, trace.y.back()[o], 1e-4 * (1 + std::abs(trace.y.back()[o])))
            << net.describe();
        workspace.output_gradient(row / kLanes)[o * kLanes + row % kLanes] =
            dy[row * net.outputs + o];
      }
      reference::backward<double>(
          net, exact, trace, convert<double>(std::span(dy).subspan(row * net.outputs, net.outputs)),
          expected);
    }
    for (int lane = batch; lane < block_count(batch) * kLanes; ++lane) {
      for (int o = 0; o < net.outputs; ++o)
        workspace.output_gradient(lane / kLanes)[o * kLanes + lane % kLanes] = 0;
    }
    std::vector<float> gradient(net.storage);
    backward(plan, random.parameters, batch, workspace, gradient);
    double size = 1;  // largest gradient: sums over a batch cancel
    for (double g : expected) size = std::max(size, std::abs(g));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], expected[i], 1e-4 * (size + std::abs(expected[i])))
          << net.describe() << " parameter " << i;
    }
  }
}

void expect_gradient_equals_finite_differences(const Structure& net, std::vector<double> p,
                                               Rng& rng) {
  const std::vector<double> x = convert<double>(random_floats(net.inputs, rng));
  const std::vector<double> dy = convert<double>(random_floats(net.outputs, rng));
  const auto loss = [&] {
    const auto y = reference::forward<double>(net, p, x).y.back();
    return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
  };
  std::vector<double> gradient(net.storage);
  reference::backward<double>(net, p, reference::forward<double>(net, p, x), dy, gradient);
  double size = 0;
  for (const TensorInfo& tensor : tensors(net)) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c) {
        const std::size_t i = tensor.offset + r * tensor.stride + c;
        const double keep = p[i], h = 1e-6;
        p[i] = keep + h;
        const double up = loss();
        p[i] = keep - h;
        const double down = loss();
        p[i] = keep;
        ASSERT_NEAR(gradient[i], (up - down) / (2 * h), 1e-4 * (1e-2 + std::abs(gradient[i])))
            << net.describe() << " " << tensor.name << " " << r << " " << c;
        size = std::max(size, std::abs(gradient[i]));
      }
    }
  }
  EXPECT_GT(size, 0.001);  // there was something to compare
}

// The slow twin itself against central differences in double precision, so that the chain
// fast -> twin -> definition of the derivative is closed.
TEST_P(NetworkTest, SlowTwinsGradientEqualsFiniteDifferences) {
  Rng rng(8, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 30; ++round) {
    const RandomNet random(GetParam(), 12, rng);
    expect_gradient_equals_finite_differences(random.structure, convert<double>(random.parameters),
                                              rng);
  }
}

// Check 5 of SLM-Lab's specification asks for these two.
TEST(Network, GradientsOfTheSpecifiedNetworksEqualFiniteDifferences) {
  Rng rng(9, Purpose::test, 0, 0);
  for (const bool dueling : {false, true}) {
    const Structure net =
        make_mlp(4, 2, {.hidden = {64}, .activation = Activation::selu, .dueling = dueling});
    std::vector<float> start(net.storage);
    initialise(net, Initialiser::pytorch, 11, start);
    expect_gradient_equals_finite_differences(net, convert<double>(start), rng);
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, NetworkTest,
                         testing::Values(Activation::linear, Activation::relu,
                                         Activation::leaky_relu, Activation::tanh, Activation::selu,
                                         Activation::gelu),
                         [](const auto& test) {
                           return std::string(kActivationNames[static_cast<int>(test.param)]);
                         });

// A row's result must not depend on its batch, so that threads can share a batch. The path for a
// single sample adds in another order, and may differ by rounding.
TEST(Network, ARowsOutputDoesNotDependOnTheBatchAroundIt) {
  Rng rng(1, Purpose::test, 0, 0);
  for (int round = 0; round < 60; ++round) {
    const RandomNet random(static_cast<Activation>(round % kActivationNames.size()), 70, rng);
    const Structure& net = random.structure;
    const Plan plan(net);
    Workspace many(net, 40, Use::inference), two(net, 2, Use::inference),
        one(net, 1, Use::inference);
    const std::vector<float> rows = random_floats(40 * net.inputs, rng);
    const std::vector<float> mean = random_floats(net.inputs, rng);
    const std::vector<float> factor = random_floats(net.inputs, rng);
    const InputScale scale{mean.data(), factor.data()};
    const InputScale* used = rng.below(2) != 0 ? &scale : nullptr;
    forward(plan, random.parameters, rows.data(), 40, many, used);
    for (int row = 0; row < 39; ++row) {
      forward(plan, random.parameters, rows.data() + row * net.inputs, 2, two, used);
      forward(plan, random.parameters, rows.data() + row * net.inputs, 1, one, used);
      for (int o = 0; o < net.outputs; ++o) {
        const float expected = many.outputs(row / kLanes)[o * kLanes + row % kLanes];
        ASSERT_EQ(two.outputs(0)[o * kLanes], expected) << net.describe();
        ASSERT_NEAR(one.outputs(0)[o * kLanes], expected, 1e-4f * (1 + std::abs(expected)))
            << net.describe();
      }
    }
  }
}

// Other parameters for the same rows: as if the rows had been passed in again.
TEST(Network, ForwardAgainEqualsForwardOfTheSameRows) {
  Rng rng(1, Purpose::test, 0, 1);
  for (int round = 0; round < 60; ++round) {
    const RandomNet random(static_cast<Activation>(round % kActivationNames.size()), 70, rng);
    const Structure& net = random.structure;
    const Plan plan(net);
    const int batch = round % 3 == 0 ? 1 : 1 + static_cast<int>(rng.below(40));
    const std::vector<float> rows =
        random_floats(static_cast<std::size_t>(batch) * net.inputs, rng);
    const std::vector<float> mean = random_floats(net.inputs, rng);
    const std::vector<float> factor = random_floats(net.inputs, rng);
    const InputScale scale{mean.data(), factor.data()};
    const InputScale* used = rng.below(2) != 0 ? &scale : nullptr;
    std::vector<float> others = random.parameters;
    for (float& value : others) value *= 0.75f;
    Workspace again(net, batch, Use::inference), fresh(net, batch, Use::inference);
    forward(plan, random.parameters, rows.data(), batch, again, used);
    forward_loaded(plan, others, batch, again);
    forward(plan, others, rows.data(), batch, fresh, used);
    for (int row = 0; row < batch; ++row) {
      for (int o = 0; o < net.outputs; ++o) {
        const int at = o * kLanes + row % kLanes;
        ASSERT_EQ(again.outputs(row / kLanes)[at], fresh.outputs(row / kLanes)[at])
            << net.describe() << ", batch " << batch;
      }
    }
  }
}

TEST(Network, InputsAreScaledAndBounded) {
  const Structure net = make_mlp(3, 1, {.hidden = {}});
  std::vector<float> parameters(net.storage);
  const auto& layer = std::get<DenseLayer>(net.layers[0]);
  const float weight[] = {1, 100, 10000};
  std::copy_n(weight, 3, &parameters[layer.weight]);
  const Plan plan(net);
  const float mean[] = {1, 2, 3}, factor[] = {0.5f, 100, 100};
  const InputScale scale{mean, factor};
  const float rows[] = {2, 3, 2, 1, 2, 3};  // (1 * 0.5, 100 -> 10, -100 -> -10) and zeros
  for (const int batch : {1, 2}) {
    Workspace workspace(net, batch, Use::inference);
    forward(plan, parameters, rows, batch, workspace, &scale);
    EXPECT_EQ(workspace.outputs(0)[0], 0.5f + 1000 - 100000);
    if (batch == 2) {
      EXPECT_EQ(workspace.outputs(0)[1], 0.0f);
    }
  }
}

// The padding of tensors and the stds of noisy layers are zero, whatever was there before.
void expect_zeros_in_padding_and_in_sigmas(const Structure& net) {
  SCOPED_TRACE(net.describe());
  std::vector<float> parameters(net.storage);
  initialise(net, Initialiser::pytorch, 1, parameters);
  std::vector<bool> real(net.storage, false), sigma(net.storage, false);
  for (const TensorInfo& tensor : tensors(net)) {
    for (int r = 0; r < tensor.rows; ++r) {
      for (int c = 0; c < tensor.columns; ++c) {
        const std::size_t i = tensor.offset + r * tensor.stride + c;
        ASSERT_FALSE(real[i]) << "tensors overlap";
        real[i] = true;
        sigma[i] = tensor.name.ends_with("_sigma");
      }
    }
  }
  EXPECT_EQ(std::count(real.begin(), real.end(), true), static_cast<long>(net.parameters));
  const Plan plan(net);
  Workspace workspace(net, 40, Use::training);
  Rng rng(1, Purpose::test, 0, 0);
  const std::vector<float> rows = random_floats(40 * net.inputs, rng);
  forward(plan, parameters, rows.data(), 40, workspace);
  for (int block = 0; block < 2; ++block) {
    for (int i = 0; i < 2 * kLanes; ++i)
      workspace.output_gradient(block)[i] = i < kLanes ? 1.0f : -2.0f;
  }
  std::vector<float> gradient(net.storage, 0.0f);
  for (std::size_t i = 0; i < real.size(); ++i) gradient[i] = real[i] ? 7.0f : 0.0f;
  backward(plan, parameters, 40, workspace, gradient);
  for (std::size_t i = 0; i < real.size(); ++i) {
    if (real[i] && !sigma[i]) {
      EXPECT_NE(gradient[i], 7.0f) << i;
    } else {
      EXPECT_EQ(gradient[i], 0.0f) << i;
    }
  }
}

TEST(Network, BackwardLeavesZerosInPaddingAndInSigmas) {
  const NetOptions all{.hidden = {5}, .layer_norm = true, .dueling = true, .noisy = Noisy::all};
  const Structure net = make_mlp(3, 2, all);
  EXPECT_EQ(net.parameters, 2u * (3 * 5 + 5) + 2 * 5 + 2 * (5 * 3 + 3));
  expect_zeros_in_padding_and_in_sigmas(net);
  const NetOptions streams{
      .hidden = {5}, .dueling = true, .dueling_hidden = {3, 9}, .noisy = Noisy::all};
  expect_zeros_in_padding_and_in_sigmas(make_mlp(3, 2, streams));
  expect_zeros_in_padding_and_in_sigmas(
      make_mlp(3 * 4 * 2, 2, {.channels = {3, 5}, .hidden = {5}}, 1, {3, 4, 2}));
}

TEST(Network, PassesAllocateNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  Rng rng(4, Purpose::test, 0, 0);
  for (int round = 0; round < 30; ++round) {
    const RandomNet random(static_cast<Activation>(round % kActivationNames.size()), 300, rng);
    const Structure& net = random.structure;
    const Plan plan(net);
    Workspace training(net, 50, Use::training), one(net, 1, Use::inference);
    const std::vector<float> rows = random_floats(50 * net.inputs, rng);
    const std::vector<float> mean = random_floats(net.inputs, rng);
    const InputScale scale{mean.data(), mean.data()};
    std::vector<float> gradient(net.storage);
    const std::int64_t before = allocations();
    forward(plan, random.parameters, rows.data(), 50, training, &scale);
    backward(plan, random.parameters, 50, training, gradient);
    forward(plan, random.parameters, rows.data(), 1, one, &scale);
    ASSERT_EQ(allocations(), before) << net.describe();
  }
}

}  // namespace
}  // namespace hotloop
