// Layers by hand, with small numbers. network_test.cpp compares them with their slow twins.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/structure.hpp"

namespace hotloop {
namespace {

using Values = std::vector<float>;

// A pass of one sample through a kernel, in lane `lane` of a block of 8.
template <class LayerType>
struct OneLane {
  LayerType layer;
  Values parameters, gradient;
  int lane = 3;

  struct Result {
    Values y, dx;
  };
  Result run(const Values& x, const Values& dy) {
    alignas(32) float in[8 * kLanes] = {}, out[8 * kLanes] = {}, kept[8 * kLanes] = {},
                             d[8 * kLanes] = {}, back[8 * kLanes] = {};
    Values scratch(memory_of(layer).scratch);
    for (std::size_t i = 0; i < x.size(); ++i) in[i * kLanes + lane] = x[i];
    for (std::size_t i = 0; i < dy.size(); ++i) d[i * kLanes + lane] = dy[i];
    const auto kernel = make_kernel(layer);
    kernel->forward({parameters.data(), 8, in, out, kept});
    kernel->backward(
        {parameters.data(), 8, in, out, kept, d, back, scratch.data(), gradient.data(), false});
    Result result;
    for (std::size_t i = 0; i < dy.size(); ++i) result.y.push_back(out[i * kLanes + lane]);
    for (std::size_t i = 0; i < x.size(); ++i) result.dx.push_back(back[i * kLanes + lane]);
    return result;
  }
};

void expect_near(const Values& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

// Worked numbers of SLM-Lab's specification, check 4.
TEST(Dueling, WorkedNumbers) {
  OneLane<DuelingLayer> dueling{{.actions = 3, .atoms = 1}, {}, {}};
  const auto [q, dx] = dueling.run({2, 1, -1, 3}, {0, 0, 1});
  expect_near(q, {2, 0, 4}, 1e-6);
  expect_near(dx, {1, -1.0 / 3, -1.0 / 3, 2.0 / 3}, 1e-6);
}

// Two atoms do not mix: V = (2, 10), A = ((1, 0), (3, 4)) has means (2, 2).
TEST(Dueling, AtomsAreIndependent) {
  OneLane<DuelingLayer> dueling{{.actions = 2, .atoms = 2}, {}, {}};
  const auto [q, dx] = dueling.run({2, 10, 1, 0, 3, 4}, {0, 1, 0, 0});
  expect_near(q, {1, 8, 3, 12}, 1e-6);
  expect_near(dx, {0, 1, 0, 0.5, 0, -0.5}, 1e-6);
}

// One channel, filter ((1, 2, 3), (4, 5, 6), (7, 8, 9)), x = ((1, 2, 3), (4, 5, 6)): at the top
// left 5 * 1 + 6 * 2 + 8 * 4 + 9 * 5 = 94, and so on; only those four weights overlap x there.
TEST(Conv, WorkedNumbers) {
  OneLane<ConvLayer> conv{
      {.height = 2, .width = 3, .in = 1, .out = 1, .stride = 16, .weight = 0, .bias = 16},
      Values(24),
      Values(24)};
  for (int i = 0; i < 9; ++i) conv.parameters[i] = static_cast<float>(i + 1);
  conv.parameters[16] = 0.5f;
  const auto [y, dx] = conv.run({1, 2, 3, 4, 5, 6}, {1, 0, 0, 0, 0, 0});
  expect_near(y, {94.5, 154.5, 106.5, 58.5, 91.5, 58.5}, 0);
  expect_near(dx, {5, 6, 0, 8, 9, 0}, 0);
  std::vector<double> gradient(24);
  gradient[4] = 1, gradient[5] = 2, gradient[7] = 4, gradient[8] = 5, gradient[16] = 1;
  expect_near(conv.gradient, gradient, 0);
}

// Value (1, 2) x + 0.5, advantages (3, 4) x and (5, 6) x + 1, all of x = (1, -1); dL/dx is the sum.
TEST(Streams, WorkedNumbersOfASharedInput) {
  OneLane<StreamsLayer> streams{
      {.value = {.in = 2, .out = 1, .stride = 8, .weight = 0, .bias = 8},
       .advantage = {.in = 2, .out = 2, .stride = 8, .weight = 16, .bias = 32}},
      Values(40),
      Values(40)};
  Values& p = streams.parameters;
  p[0] = 1, p[1] = 2, p[8] = 0.5f, p[16] = 3, p[17] = 4, p[24] = 5, p[25] = 6, p[33] = 1;
  const auto [y, dx] = streams.run({1, -1}, {1, 10, 100});
  expect_near(y, {-0.5, -1, 0}, 0);
  expect_near(dx, {531, 642}, 0);
  std::vector<double> gradient(40);
  gradient[0] = 1, gradient[1] = -1, gradient[8] = 1;
  gradient[16] = 10, gradient[17] = -10, gradient[24] = 100, gradient[25] = -100;
  gradient[32] = 10, gradient[33] = 100;
  expect_near(streams.gradient, gradient, 0);
}

TEST(Streams, ASplitInputKeepsThemApart) {
  OneLane<StreamsLayer> streams{
      {.value = {.in = 1, .out = 1, .stride = 8, .weight = 0, .bias = 8},
       .advantage = {.in = 1, .out = 1, .stride = 8, .weight = 16, .bias = 24},
       .split_input = true},
      Values(32),
      Values(32)};
  streams.parameters[0] = 2, streams.parameters[16] = 3;
  const auto [y, dx] = streams.run({5, 7}, {1, 10});
  expect_near(y, {10, 21}, 0);
  expect_near(dx, {2, 30}, 0);
  EXPECT_EQ(streams.gradient[0], 5);
  EXPECT_EQ(streams.gradient[16], 70);
}

// x = (1, 2, 3, 6): mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5, n = (-2, -1, 0, 3) / sqrt(3.50001).
// With dz = (1, 0, 0, 0) and scale 2: g = (2, 0, 0, 0), mean of g = 1/2, mean of g n = n_0 / 2, so
// dx_j = (g_j - 1/2 - n_j n_0 / 2) / sqrt(3.50001).
TEST(Norm, WorkedNumbers) {
  OneLane<NormLayer> norm{{.width = 4, .activation = Activation::linear, .scale = 0, .shift = 4},
                          {2, 1, 1, 1, 0.5f, 0, 0, -1},
                          Values(8)};
  const auto [y, dx] = norm.run({1, 2, 3, 6}, {1, 0, 0, 0});
  const double s = std::sqrt(3.50001), n0 = -2 / s;
  expect_near(y, {-4 / s + 0.5, -1 / s, 0, 3 / s - 1}, 1e-6);
  expect_near(
      dx, {(1.5 - n0 * n0 / 2) / s, (-0.5 + n0 / s / 2) / s, -0.5 / s, (-0.5 - 3 * n0 / s / 2) / s},
      1e-6);
  expect_near(norm.gradient, {n0, 0, 0, 0, 1, 0, 0, 0}, 1e-6);
}

// Equal features have no variance: epsilon keeps the result finite, and the result is the shift.
TEST(Norm, EqualFeaturesGiveTheShift) {
  OneLane<NormLayer> norm{{.width = 2, .activation = Activation::relu, .scale = 0, .shift = 2},
                          {1, 1, 3, -3},
                          Values(4)};
  expect_near(norm.run({7, 7}, {0, 0}).y, {3, 0}, 0);
}

// Sums in a fixed order, and a correctly rounded root and quotient: no estimates that differ
// between CPU vendors.
TEST(Norm, BitsAreThoseOfPlainArithmetic) {
  Rng rng(1, Purpose::test, 0, 0);
  for (int round = 0; round < 1000; ++round) {
    OneLane<NormLayer> norm{{.width = 8, .activation = Activation::linear, .scale = 0, .shift = 8},
                            {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                            Values(16)};
    Values x(8);
    for (float& v : x) v = static_cast<float>(rng.normal());
    float sum = 0, squares = 0;
    for (const float v : x) sum += v;
    const float mean = sum / 8;
    for (const float v : x) squares += (v - mean) * (v - mean);
    const float inverse = 1.0f / std::sqrt(squares / 8 + kNormEpsilon);
    const Values y = norm.run(x, Values(8)).y;
    for (int i = 0; i < 8; ++i) ASSERT_EQ(y[i], (x[i] - mean) * inverse) << "round " << round;
  }
}

}  // namespace
}  // namespace hotloop
