#include "net/noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/network.hpp"
#include "reference/network.hpp"
#include "reference/noise.hpp"
#include "tests/allocations.hpp"

namespace hotloop {
namespace {

std::vector<Structure> noisy_structures() {
  std::vector<Structure> list;
  for (const Noisy noisy : {Noisy::head, Noisy::all}) {
    for (const bool norm : {false, true}) {
      list.push_back(make_mlp(4, 2, {.hidden = {64}, .layer_norm = norm, .noisy = noisy}));
      list.push_back(make_mlp(
          11, 3, {.hidden = {7, 20}, .layer_norm = norm, .dueling = true, .noisy = noisy}, 5));
    }
    list.push_back(make_mlp(
        11, 3, {.hidden = {7}, .dueling = true, .dueling_hidden = {6, 20}, .noisy = noisy}, 5));
    list.push_back(make_mlp(18, 3, {.channels = {5}, .hidden = {7}, .noisy = noisy}, 1, {3, 3, 2}));
  }
  return list;
}

// Two inputs, one output: W = (1, 2), b = 3, sigma_W = (0.5, 0.25), sigma_b = 0.1, e_in = (2, -1),
// e_out = 3. Effective W = (1 + 0.5 * 6, 2 - 0.25 * 3) = (4, 1.25), b = 3.3. With dW = (10, 20),
// db = 5: d sigma_W = (10 * 6, -20 * 3) = (60, -60), d sigma_b = 15.
TEST(Noise, WorkedNumbers) {
  const Structure net = make_mlp(2, 1, {.hidden = {}, .noisy = Noisy::all});
  const auto& layer = std::get<DenseLayer>(net.layers[0]);
  std::vector<float> parameters(net.storage), effective(net.storage), gradient(net.storage),
      noise(noise_size(net));
  ASSERT_EQ(noise.size(), 16u);
  parameters[layer.weight] = 1, parameters[layer.weight + 1] = 2, parameters[layer.bias] = 3;
  parameters[layer.weight_sigma] = 0.5f, parameters[layer.weight_sigma + 1] = 0.25f;
  parameters[layer.bias_sigma] = 0.1f;
  noise[0] = 2, noise[1] = -1, noise[8] = 3;
  perturb(net, parameters, noise, effective);
  EXPECT_FLOAT_EQ(effective[layer.weight], 4);
  EXPECT_FLOAT_EQ(effective[layer.weight + 1], 1.25);
  EXPECT_FLOAT_EQ(effective[layer.bias], 3.3f);
  EXPECT_EQ(effective[layer.weight_sigma], 0.5f);
  gradient[layer.weight] = 10, gradient[layer.weight + 1] = 20, gradient[layer.bias] = 5;
  noise_gradient(net, noise, gradient);
  EXPECT_FLOAT_EQ(gradient[layer.weight_sigma], 60);
  EXPECT_FLOAT_EQ(gradient[layer.weight_sigma + 1], -60);
  EXPECT_FLOAT_EQ(gradient[layer.bias_sigma], 15);
  EXPECT_EQ(gradient[layer.weight], 10);
}

TEST(Noise, DrawingPerturbingAndGradientEqualTheirSlowTwins) {
  std::uint64_t step = 0;
  for (const Structure& net : noisy_structures()) {
    std::vector<float> parameters(net.storage), effective(net.storage), gradient(net.storage),
        noise(noise_size(net));
    initialise(net, Initialiser::pytorch, 1, parameters);
    draw_noise(net, 7, 2, ++step, noise);
    const std::vector<double> drawn = reference::draw_noise<double>(noise.size(), 7, 2, step);
    for (std::size_t i = 0; i < noise.size(); ++i)
      ASSERT_NEAR(noise[i], drawn[i], 1e-3);  // the root is steep near zero: checked below
    for (std::size_t i = 0; i < noise.size(); ++i) {
      ASSERT_NEAR(noise[i] * std::abs(noise[i]), drawn[i] * std::abs(drawn[i]), 3e-6);
    }
    const std::vector<double> exact(parameters.begin(), parameters.end());
    const std::vector<double> e(noise.begin(), noise.end());
    perturb(net, parameters, noise, effective);
    const std::vector<double> expected = reference::perturb<double>(net, exact, e);
    for (std::size_t i = 0; i < effective.size(); ++i)
      ASSERT_NEAR(effective[i], expected[i], 1e-6) << net.describe();
    gradient = effective;  // any numbers will do
    std::vector<double> slow(gradient.begin(), gradient.end());
    noise_gradient(net, noise, gradient);
    reference::noise_gradient<double>(net, e, slow);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      ASSERT_NEAR(gradient[i], slow[i], 2e-6) << net.describe();
  }
}

// With respect to all parameters, including stds, through the effective ones.
TEST(Noise, GradientEqualsFiniteDifferences) {
  for (const Structure& net : noisy_structures()) {
    std::vector<float> start(net.storage);
    initialise(net, Initialiser::pytorch, 3, start);
    std::vector<double> p(start.begin(), start.end());
    const std::vector<double> e = reference::draw_noise<double>(noise_size(net), 5, 0, 1);
    Rng rng(1, Purpose::test, 0, 0);
    std::vector<double> x(net.inputs), dy(net.outputs), gradient(net.storage);
    for (double& value : x) value = rng.normal();
    for (double& value : dy) value = rng.normal();
    const auto trace = [&] {
      const std::vector<double> effective = reference::perturb<double>(net, p, e);
      return reference::forward<double>(net, effective, x);
    };
    const auto loss = [&] {
      double sum = 0;
      const auto y = trace().y.back();
      for (int o = 0; o < net.outputs; ++o) sum += y[o] * dy[o];
      return sum;
    };
    reference::backward<double>(net, reference::perturb<double>(net, p, e), trace(), dy, gradient);
    reference::noise_gradient<double>(net, e, gradient);
    double size = 0;
    for (const TensorInfo& tensor : tensors(net)) {
      for (int k = 0; k < 8; ++k) {
        const std::size_t i =
            tensor.offset + rng.below(tensor.rows) * tensor.stride + rng.below(tensor.columns);
        const double keep = p[i], h = 1e-6;
        p[i] = keep + h;
        const double up = loss();
        p[i] = keep - h;
        const double down = loss();
        p[i] = keep;
        ASSERT_NEAR(gradient[i], (up - down) / (2 * h), 1e-4 * (1e-2 + std::abs(gradient[i])))
            << net.describe() << " " << tensor.name;
        if (tensor.name.ends_with("_sigma")) size = std::max(size, std::abs(gradient[i]));
      }
    }
    EXPECT_GT(size, 0.01);
  }
}

// e = sign(x) sqrt|x| of a standard normal x: e |e| = x, E e^2 = E|x| = sqrt(2 / pi), and different
// places and steps are uncorrelated. Tolerances are five standard errors of n = 288,000 draws.
TEST(Noise, MomentsAreThoseOfTheRootOfANormal) {
  const Structure net = make_mlp(4, 2, {.hidden = {64}, .noisy = Noisy::all});
  std::vector<float> noise(noise_size(net));
  ASSERT_EQ(noise.size(), 144u);
  double mean = 0, square = 0, fourth = 0, absolute = 0, neighbours = 0, pairs = 0, tail = 0;
  constexpr int kSteps = 2000;
  const double n = 144.0 * kSteps;
  for (int step = 0; step < kSteps; ++step) {
    draw_noise(net, 1, 0, step, noise);
    for (int i = 0; i < 144; ++i) {
      const double x = noise[i] * std::abs(noise[i]);
      const double next = noise[(i + 1) % 144] * std::abs(noise[(i + 1) % 144]);
      const double pair =
          noise[i ^ 8] * std::abs(noise[i ^ 8]);  // its partner in the Box-Muller pair
      mean += x / n;
      square += x * x / n;
      fourth += x * x * x * x / n;
      absolute += noise[i] * noise[i] / n;
      neighbours += x * next / n;
      pairs += x * x * pair * pair / n;
      tail += (x > 2) / n;
    }
  }
  const double error = 5 / std::sqrt(n);
  EXPECT_NEAR(mean, 0, error);
  EXPECT_NEAR(square, 1, error * std::sqrt(2));
  EXPECT_NEAR(fourth, 3, error * std::sqrt(96));
  EXPECT_NEAR(absolute, std::sqrt(2 / std::numbers::pi), error);
  EXPECT_NEAR(neighbours, 0, error);
  EXPECT_NEAR(pairs, 1, error * 4);
  EXPECT_NEAR(tail, 0.02275, error * 0.15);
}

TEST(Noise, IsAFunctionOfItsStream) {
  const Structure net = make_mlp(4, 2, {.hidden = {64}, .noisy = Noisy::all});
  const Structure head = make_mlp(4, 2, {.hidden = {}, .noisy = Noisy::all});
  const auto draw = [](const Structure& of, std::uint64_t seed, std::uint32_t lane,
                       std::uint64_t step) {
    std::vector<float> noise(noise_size(of), 9.0f);
    draw_noise(of, seed, lane, step, noise);
    return noise;
  };
  const std::vector<float> noise = draw(net, 1, 2, 3);
  EXPECT_EQ(noise, draw(net, 1, 2, 3));
  EXPECT_NE(noise, draw(net, 2, 2, 3));
  EXPECT_NE(noise, draw(net, 1, 3, 3));
  EXPECT_NE(noise, draw(net, 1, 2, 4));
  // A shorter array is the beginning of a longer one.
  const std::vector<float> shorter = draw(head, 1, 2, 3);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), noise.begin()));
  EXPECT_EQ(noise_size(make_mlp(4, 2, {.hidden = {64}})), 0u);
}

// Each stream has its own e_in and e_out. For weights with mean 0 and std 1, rows that share e_in
// are proportional.
TEST(Noise, StreamsShareNoNoise) {
  const Structure net = make_mlp(
      16, 8, {.hidden = {}, .dueling = true, .dueling_hidden = {24}, .noisy = Noisy::all}, 16);
  EXPECT_EQ(noise_size(net), (16u + 24) + (16 + 24) + (24 + 16) + (24 + 128));
  const auto& streams = std::get<StreamsLayer>(net.layers[0]);
  std::vector<float> parameters(net.storage), effective(net.storage), noise(noise_size(net));
  for (const DenseLayer& layer : {streams.value, streams.advantage})
    std::fill_n(&parameters[layer.weight_sigma], 24 * 16, 1.0f);
  draw_noise(net, 1, 0, 1, noise);
  perturb(net, parameters, noise, effective);
  const float* value = &effective[streams.value.weight];
  const float* advantage = &effective[streams.advantage.weight];
  EXPECT_NEAR(value[0] * value[17], value[1] * value[16], 1e-6);  // they are within one stream
  EXPECT_GT(std::abs(value[0] * advantage[1] - value[1] * advantage[0]), 1e-3);
}

TEST(Noise, AllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  for (const Structure& net : noisy_structures()) {
    std::vector<float> parameters(net.storage), effective(net.storage), noise(noise_size(net));
    const std::int64_t before = allocations();
    draw_noise(net, 1, 2, 3, noise);
    perturb(net, parameters, noise, effective);
    noise_gradient(net, noise, effective);
    ASSERT_EQ(allocations(), before);
  }
}

}  // namespace
}  // namespace hotloop
