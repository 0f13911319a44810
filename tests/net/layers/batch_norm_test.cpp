// Batch norm by hand, and its running statistics. training_pass_test.cpp compares the passes with
// their slow twin.
#include "net/layers/batch_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <hotloop/rng.hpp>

#include "net/network.hpp"
#include "net/structure_builder.hpp"

namespace hotloop {
namespace {

// One batch norm layer and nothing else.
struct OnlyNorm {
  Structure net;
  std::vector<float> parameters;

  explicit OnlyNorm(int width) : net{.inputs = width, .outputs = width} {
    StructureBuilder build(net);
    net.outputs_at = build.add(BatchNormLayer{.width = width}, 0);
    parameters.resize(net.storage);
    initialise(net, Initialiser::pytorch, 1, parameters);
  }
  const BatchNormLayer& layer() const { return std::get<BatchNormLayer>(net.layers[0]); }
  float& at(std::size_t offset, int f = 0) { return parameters[offset + f]; }
};

struct NormPass {
  Plan plan;
  Workspace workspace;

  NormPass(OnlyNorm& norm, const std::vector<float>& rows, bool training = true)
      : plan(norm.net),
        workspace(norm.net, static_cast<int>(rows.size()) / norm.net.inputs, Use::input_gradients) {
    if (training) workspace.set_training({});
    forward(plan, norm.parameters, rows.data(), workspace.capacity(), workspace);
  }
  float y(int row, int f = 0) const {
    return workspace.outputs(row / kLanes)[f * kLanes + row % kLanes];
  }
};

// x = (1, 5): mean 3, variance 4. In the warm-up y = 2 (x - 3) / sqrt(4.001) + 0.5.
TEST(BatchNorm, WorkedNumbersOfTheWarmUp) {
  OnlyNorm norm(1);
  norm.at(norm.layer().scale) = 2, norm.at(norm.layer().shift) = 0.5f;
  norm.at(norm.layer().mean) = 100, norm.at(norm.layer().passes) = 99'999;
  const NormPass pass(norm, {1, 5});
  EXPECT_NEAR(pass.y(0), -4 / std::sqrt(4.001) + 0.5, 1e-6);
  EXPECT_NEAR(pass.y(1), 4 / std::sqrt(4.001) + 0.5, 1e-6);
}

// After it, with running mean 2 and variance 1, nothing is clipped: as if the running statistics
// had been used, y = 2 (x - 2) / sqrt(1.001) + 0.5. The gradient has r = sqrt(4.001 / 1.001) as a
// constant: with dy = (1, 0) and n = -+2 / sqrt(4.001), dx = 2 r / sqrt(4.001) times
// dy - 1/2 - n n_0 / 2.
TEST(BatchNorm, WorkedNumbersAfterTheWarmUp) {
  OnlyNorm norm(1);
  const BatchNormLayer& layer = norm.layer();
  norm.at(layer.scale) = 2, norm.at(layer.shift) = 0.5f;
  norm.at(layer.mean) = 2, norm.at(layer.variance) = 1, norm.at(layer.passes) = 100'000;
  NormPass pass(norm, {1, 5});
  EXPECT_NEAR(pass.y(0), -2 / std::sqrt(1.001) + 0.5, 1e-6);
  EXPECT_NEAR(pass.y(1), 6 / std::sqrt(1.001) + 0.5, 1e-6);
  const NormPass evaluation(norm, {1, 5}, false);
  EXPECT_NEAR(evaluation.y(0), pass.y(0), 1e-6);
  EXPECT_NEAR(evaluation.y(1), pass.y(1), 1e-6);

  pass.workspace.output_gradient(0)[0] = 1;
  std::vector<float> gradient(norm.net.storage);
  backward_to_inputs(pass.plan, norm.parameters, 2, pass.workspace, nullptr, gradient);
  const double n = 2 / std::sqrt(4.001), slope = 2 / std::sqrt(1.001);
  EXPECT_NEAR(pass.workspace.input_gradient(0)[0], slope * (0.5 - n * n / 2), 1e-6);
  EXPECT_NEAR(pass.workspace.input_gradient(0)[1], slope * (-0.5 + n * n / 2), 1e-6);
  EXPECT_EQ(pass.workspace.input_gradient(0)[2], 0);
  EXPECT_NEAR(gradient[layer.scale], -1 / std::sqrt(1.001), 1e-6);
  EXPECT_EQ(gradient[layer.shift], 1);
}

// Feature 0: sigma_B / sigma_run = 10 becomes 3, and d = (0 - 99) / sigma_run becomes -5.
// Feature 1: sigma_B / sigma_run = 1/10 becomes 1/3, d = 7 becomes 5.
TEST(BatchNorm, CorrectionsAreClipped) {
  OnlyNorm norm(2);
  const BatchNormLayer& layer = norm.layer();
  norm.at(layer.passes) = 100'000;
  norm.at(layer.variance) = 1 - 1e-3f, norm.at(layer.mean) = 99;
  norm.at(layer.variance, 1) = 100 - 1e-3f, norm.at(layer.mean, 1) = -70;
  const auto a = static_cast<float>(std::sqrt(100 - 1e-3)),
             b = static_cast<float>(std::sqrt(1 - 1e-3));
  const NormPass pass(norm, {a, b, -a, -b});
  EXPECT_NEAR(pass.y(0, 0), 3 * a / 10 - 5, 1e-5);
  EXPECT_NEAR(pass.y(1, 0), -3 * a / 10 - 5, 1e-5);
  EXPECT_NEAR(pass.y(0, 1), b / 3 + 5, 1e-5);
  EXPECT_NEAR(pass.y(1, 1), -b / 3 + 5, 1e-5);
}

// A plain loop in double precision over passes of several sizes, across the end of the warm-up.
TEST(BatchNorm, RunningStatisticsEqualAPlainLoop) {
  constexpr int kWidth = 5;
  Rng rng(70, Purpose::test, 0, 0);
  OnlyNorm norm(kWidth);
  const BatchNormLayer layer = norm.layer();
  EXPECT_EQ(norm.at(layer.mean), 0);
  EXPECT_EQ(norm.at(layer.variance), 1);
  EXPECT_EQ(norm.at(layer.passes), 0);
  norm.at(layer.passes) = 99'990;
  std::vector<double> mean(kWidth, 0.0), variance(kWidth, 1.0);
  for (int step = 0; step < 300; ++step) {
    const int batch = 1 + static_cast<int>(rng.below(100));
    std::vector<float> rows;
    for (int i = 0; i < batch * kWidth; ++i)
      rows.push_back(static_cast<float>(3 + i % kWidth * rng.normal()));
    const std::vector<float> before = norm.parameters;
    NormPass pass(norm, rows);
    EXPECT_EQ(norm.parameters, before);  // a pass changes nothing
    update_statistics(pass.plan, pass.workspace, norm.parameters);
    for (int f = 0; f < kWidth; ++f) {
      double m = 0, v = 0;
      for (int row = 0; row < batch; ++row) m += rows[row * kWidth + f] / batch;
      for (int row = 0; row < batch; ++row) v += std::pow(rows[row * kWidth + f] - m, 2) / batch;
      mean[f] += 0.01 * (m - mean[f]);
      variance[f] += 0.01 * (v - variance[f]);
      ASSERT_NEAR(norm.at(layer.mean, f), mean[f], 1e-5 * (1 + std::abs(mean[f])));
      ASSERT_NEAR(norm.at(layer.variance, f), variance[f], 1e-5 * (1 + variance[f]));
    }
    for (const std::size_t trained : {layer.scale, layer.shift}) {
      for (int f = 0; f < kWidth; ++f) ASSERT_EQ(norm.at(trained, f), before[trained + f]);
    }
  }
  EXPECT_EQ(norm.at(layer.passes), 100'290);
}

TEST(BatchNorm, StatisticsThatAreNotFiniteAreLeftOut) {
  OnlyNorm norm(2);
  NormPass pass(norm, {1, std::numeric_limits<float>::infinity(), 3, 0});
  update_statistics(pass.plan, pass.workspace, norm.parameters);
  EXPECT_FLOAT_EQ(norm.at(norm.layer().mean, 0), 0.02f);
  EXPECT_EQ(norm.at(norm.layer().mean, 1), 0);
  EXPECT_EQ(norm.at(norm.layer().variance, 1), 1);
  norm.at(norm.layer().passes) = 0x1p24f;  // the count stays where floats end
  update_statistics(pass.plan, pass.workspace, norm.parameters);
  EXPECT_EQ(norm.at(norm.layer().passes), 0x1p24f);
}

}  // namespace
}  // namespace hotloop
