#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "net/structure.hpp"

namespace hotloop {
namespace {

struct Values {
  std::vector<double> weight, bias;
};

Values first_layer(Initialiser init, int in, int out, std::uint64_t seed = 5,
                   Activation activation = Activation::relu) {
  const Structure net = make_mlp(in, 3, {.hidden = {out}, .activation = activation});
  std::vector<float> p(net.storage, 99.0f);
  initialise(net, init, seed, p);
  const auto& layer = std::get<DenseLayer>(net.layers[0]);
  Values result;
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
  const Values layer = first_layer(Initialiser::pytorch, 100, 200);
  EXPECT_LE(largest(layer.weight), 0.1);
  EXPECT_GT(largest(layer.weight), 0.099);
  EXPECT_NEAR(variance(layer.weight), 0.01 / 3, 1e-4);
  EXPECT_LE(largest(layer.bias), 0.1);
  EXPECT_GT(largest(layer.bias), 0.09);
}

TEST(Initialise, GlorotIsUniformWithItsBoundAndZeroBias) {
  const Values layer = first_layer(Initialiser::glorot, 100, 200);
  const double bound = std::sqrt(6.0 / 300);
  EXPECT_LE(largest(layer.weight), bound);
  EXPECT_NEAR(variance(layer.weight), bound * bound / 3, 3e-4);
  EXPECT_EQ(largest(layer.bias), 0);
}

TEST(Initialise, HeIsNormalWithVarianceTwoOverIn) {
  const Values layer = first_layer(Initialiser::he, 100, 200);
  EXPECT_NEAR(variance(layer.weight), 0.02, 1e-3);
  EXPECT_GT(largest(layer.weight), 3 * std::sqrt(0.02));  // beyond the bound of a uniform
  EXPECT_EQ(largest(layer.bias), 0);
}

void expect_orthogonal(int in, int out, Activation activation, double square) {
  const Values layer = first_layer(Initialiser::orthogonal, in, out, 5, activation);
  const bool rows = out <= in;  // which side can be orthonormal
  const int count = rows ? out : in;
  const auto at = [&](int which, int element) {
    return rows ? layer.weight[which * in + element] : layer.weight[element * in + which];
  };
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      double dot = 0;
      for (int i = 0; i < (rows ? in : out); ++i) dot += at(a, i) * at(b, i);
      ASSERT_NEAR(dot, a == b ? square : 0.0, 1e-5)
          << kActivationNames[static_cast<int>(activation)];
    }
  }
}

TEST(Initialise, OrthogonalHasOrthonormalRowsOrColumnsTimesGain) {
  for (const auto& [in, out] : {std::pair{20, 50}, std::pair{50, 20}, std::pair{16, 16}}) {
    expect_orthogonal(in, out, Activation::relu, 2);  // gain sqrt(2) for rectifiers
    expect_orthogonal(in, out, Activation::leaky_relu, 2);
    expect_orthogonal(in, out, Activation::tanh, 1);
  }
}

// Uniform over all orthogonal matrices: both signs are equally likely. The std of one element is
// sqrt(2 / 6), that of the mean over 200 seeds 0.04.
TEST(Initialise, OrthogonalHasBothSignsEquallyOften) {
  std::vector<double> mean(36);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Values layer = first_layer(Initialiser::orthogonal, 6, 6, seed);
    for (int i = 0; i < 36; ++i) mean[i] += layer.weight[i] / 200;
  }
  EXPECT_LT(largest(mean), 0.2);
}

TEST(Initialise, NormsAreTheIdentityAndNoisyLayersFollowTheirPaper) {
  const Structure net = make_mlp(100, 3,
                                 {.hidden = {200},
                                  .layer_norm = true,
                                  .dueling = true,
                                  .noisy = Noisy::head,
                                  .noisy_sigma = 0.4});
  std::vector<float> p(net.storage, 99.0f);
  initialise(net, Initialiser::he, 5, p);
  std::vector<std::vector<double>> values;
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors(net)) {
    names.push_back(tensor.name);
    values.emplace_back();
    for (int r = 0; r < tensor.rows; ++r) {
      const auto row = p.begin() + tensor.offset + r * tensor.stride;
      values.back().insert(values.back().end(), row, row + tensor.columns);
    }
  }
  ASSERT_EQ(names, (std::vector<std::string>{"layer0.weight", "layer0.bias", "layer1.scale",
                                             "layer1.shift", "layer2.weight", "layer2.bias",
                                             "layer2.weight_sigma", "layer2.bias_sigma"}));
  EXPECT_NEAR(variance(values[0]), 0.02, 1e-3);  // He
  EXPECT_EQ(values[2], std::vector<double>(200, 1.0));
  EXPECT_EQ(values[3], std::vector<double>(200, 0.0));
  const double bound = 1 / std::sqrt(200.0);
  EXPECT_LE(largest(values[4]), bound);
  EXPECT_NEAR(variance(values[4]), bound * bound / 3, 3e-4);
  EXPECT_GT(largest(values[5]), 0);
  for (const auto& sigmas : {values[6], values[7]}) {
    for (double sigma : sigmas) ASSERT_FLOAT_EQ(sigma, 0.4 / std::sqrt(200.0));
  }
}

// The fan of a convolution counts all nine places of the filter.
TEST(Initialise, ConvolutionsUseTheirFan) {
  const Structure net = make_mlp(3 * 3 * 10, 3, {.channels = {200}, .hidden = {}}, 1, {3, 3, 10});
  const auto weights = [&](Initialiser init) {
    std::vector<float> p(net.storage, 99.0f);
    initialise(net, init, 5, p);
    Values values;
    const auto& layer = std::get<ConvLayer>(net.layers[0]);
    for (int o = 0; o < 200; ++o) {
      const auto row = p.begin() + layer.weight + o * layer.stride;
      values.weight.insert(values.weight.end(), row, row + 90);
      values.bias.push_back(p[layer.bias + o]);
      for (int i = 90; i < layer.stride; ++i) EXPECT_EQ(row[i], 0);
    }
    return values;
  };
  const Values pytorch = weights(Initialiser::pytorch);
  EXPECT_LE(largest(pytorch.weight), 1 / std::sqrt(90));
  EXPECT_NEAR(variance(pytorch.weight), 1.0 / 90 / 3, 1e-4);
  EXPECT_GT(largest(pytorch.bias), 0.9 / std::sqrt(90));
  EXPECT_LE(largest(pytorch.bias), 1 / std::sqrt(90));
  const double bound = std::sqrt(6.0 / (90 + 1800));
  EXPECT_NEAR(variance(weights(Initialiser::glorot).weight), bound * bound / 3, 5e-5);
  EXPECT_NEAR(variance(weights(Initialiser::he).weight), 2.0 / 90, 1e-3);
  const std::vector<double> w = weights(Initialiser::orthogonal).weight;
  double square = 0, across = 0;  // columns are orthonormal, times sqrt(2)
  for (int o = 0; o < 200; ++o) {
    square += w[o * 90 + 7] * w[o * 90 + 7];
    across += w[o * 90 + 7] * w[o * 90 + 60];
  }
  EXPECT_NEAR(square, 2, 1e-5);
  EXPECT_NEAR(across, 0, 1e-5);
}

// Every row has its own stream; those of the advantages come after those of the value.
TEST(Initialise, StreamsDoNotStartEqual) {
  for (const Initialiser init : {Initialiser::pytorch, Initialiser::orthogonal}) {
    const Structure net = make_mlp(12, 2, {.hidden = {}, .dueling = true, .dueling_hidden = {9}});
    std::vector<float> p(net.storage);
    initialise(net, init, 5, p);
    const auto& layer = std::get<StreamsLayer>(net.layers[0]);
    std::vector<std::vector<float>> rows;
    for (const DenseLayer& dense : {layer.value, layer.advantage}) {
      for (int o = 0; o < 9; ++o) {
        const auto row = p.begin() + dense.weight + o * dense.stride;
        rows.emplace_back(row, row + 12);
      }
    }
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(std::unique(rows.begin(), rows.end()), rows.end());
  }
}

// The stream of attention scores comes after those of the hidden layer.
TEST(Initialise, AttentionScoresHaveAStreamOfTheirOwn) {
  const std::vector<InputPart> parts = {{"rows", 3, 6}};
  const Structure net = make_mlp(
      18, 2, {.branches = {{"all", {"rows"}, {"attention 6"}}}, .hidden = {}}, 1, {}, parts);
  const auto& layer = std::get<AttentionLayer>(net.layers[0]);
  for (const Initialiser init : {Initialiser::pytorch, Initialiser::he}) {
    std::vector<float> p(net.storage);
    initialise(net, init, 5, p);
    const auto score = p.begin() + layer.score.weight;
    for (int o = 0; o < layer.hidden.out; ++o) {
      const auto row = p.begin() + layer.hidden.weight + o * layer.hidden.stride;
      EXPECT_FALSE(std::equal(row, row + 6, score)) << o;
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
