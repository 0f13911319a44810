#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "net/structure.hpp"

namespace hotloop {
namespace {

struct Layer {
  std::vector<double> weight, bias;
};

Layer first_layer(Initialiser init, int in, int out, std::uint64_t seed = 5) {
  const Structure net = make_mlp(in, 3, {.hidden = {out}});
  std::vector<float> p(net.storage, 99.0f);
  initialise(net, init, seed, p);
  const DenseLayer& layer = net.layers[0];
  Layer result;
  for (int o = 0; o < out; ++o) {
    result.bias.push_back(p[layer.bias + o]);
    for (int i = 0; i < in; ++i) result.weight.push_back(p[layer.weight + o * layer.stride + i]);
  }
  return result;
}

double variance(const std::vector<double>& v) {
  double mean = 0, sum = 0;
  for (double x : v) mean += x / v.size();
  for (double x : v) sum += (x - mean) * (x - mean);
  return sum / v.size();
}

double largest(const std::vector<double>& v) {
  return std::abs(*std::max_element(v.begin(), v.end(),
                                    [](double a, double b) { return std::abs(a) < std::abs(b); }));
}

// The variance of U(-b, b) is b^2 / 3.
TEST(Initialise, PytorchDefaultIsUniformWithinOneOverRootIn) {
  const Layer layer = first_layer(Initialiser::pytorch, 100, 200);
  EXPECT_LE(largest(layer.weight), 0.1);
  EXPECT_GT(largest(layer.weight), 0.099);
  EXPECT_NEAR(variance(layer.weight), 0.01 / 3, 1e-4);
  EXPECT_LE(largest(layer.bias), 0.1);
  EXPECT_GT(largest(layer.bias), 0.09);
}

TEST(Initialise, GlorotIsUniformWithItsBoundAndZeroBias) {
  const Layer layer = first_layer(Initialiser::glorot, 100, 200);
  const double bound = std::sqrt(6.0 / 300);
  EXPECT_LE(largest(layer.weight), bound);
  EXPECT_NEAR(variance(layer.weight), bound * bound / 3, 3e-4);
  EXPECT_EQ(largest(layer.bias), 0);
}

TEST(Initialise, HeIsNormalWithVarianceTwoOverIn) {
  const Layer layer = first_layer(Initialiser::he, 100, 200);
  EXPECT_NEAR(variance(layer.weight), 0.02, 1e-3);
  EXPECT_GT(largest(layer.weight), 3 * std::sqrt(0.02));  // uniform numbers would never get there
  EXPECT_EQ(largest(layer.bias), 0);
}

TEST(Initialise, OrthogonalHasOrthonormalRowsOrColumnsTimesGain) {
  for (const auto& [in, out] : {std::pair{20, 50}, std::pair{50, 20}, std::pair{16, 16}}) {
    const Layer layer = first_layer(Initialiser::orthogonal, in, out);
    const bool rows = out <= in;  // which side can be orthonormal
    const int count = rows ? out : in;
    const auto at = [&](int which, int element) {
      return rows ? layer.weight[which * in + element] : layer.weight[element * in + which];
    };
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        double dot = 0;
        for (int i = 0; i < (rows ? in : out); ++i) dot += at(a, i) * at(b, i);
        ASSERT_NEAR(dot, a == b ? 2.0 : 0.0, 1e-5);  // gain sqrt(2) behind ReLU
      }
    }
  }
}

TEST(Initialise, SeedDecides) {
  EXPECT_EQ(first_layer(Initialiser::pytorch, 8, 8, 1).weight,
            first_layer(Initialiser::pytorch, 8, 8, 1).weight);
  EXPECT_NE(first_layer(Initialiser::pytorch, 8, 8, 1).weight,
            first_layer(Initialiser::pytorch, 8, 8, 2).weight);
}

}  // namespace
}  // namespace hotloop
