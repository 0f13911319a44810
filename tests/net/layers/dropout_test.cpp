// Masks of dropout: their rate, and what they depend on. training_pass_test.cpp compares the passes
// with their slow twin.
#include "net/layers/dropout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "net/network.hpp"
#include "reference/training_network.hpp"

namespace hotloop {
namespace {

// Dropout layers one after the other, without anything else.
Structure dropout_layers(int width, int count, double rate) {
  Structure net{.inputs = width, .outputs = width, .features = width};
  for (int l = 0; l < count; ++l) {
    net.layers.push_back(DropoutLayer{width, rate});
    net.places.push_back({l * width, (l + 1) * width});
    net.features += width;
  }
  net.outputs_at = count * width;
  return net;
}

// The factors of `rows` rows [rows, width]: what ones become.
std::vector<float> masks(const Structure& net, const TrainingPass& pass, int rows,
                         Use use = Use::training, int cut = 0) {
  const Plan plan(net);
  Workspace workspace(net, rows, use, 2);
  const std::vector<float> ones(static_cast<std::size_t>(rows) * net.inputs, 1.0f);
  workspace.set_training(pass, 0);
  workspace.set_training(pass, 1);
  if (cut == 0) {
    forward(plan, {}, ones.data(), rows, workspace);
  } else {  // as by two threads
    forward(plan, {}, ones.data(), RowRange{cut, rows, 1}, workspace);
    forward(plan, {}, ones.data(), RowRange{0, cut, 0}, workspace);
  }
  std::vector<float> result;
  for (int row = 0; row < rows; ++row) {
    for (int f = 0; f < net.outputs; ++f)
      result.push_back(workspace.outputs(row / kLanes)[f * kLanes + row % kLanes]);
  }
  return result;
}

// Within 5 standard errors of p rounded to 2^-16, in all features and rows together, and in each
// feature alone.
TEST(Dropout, DropsItsShare) {
  for (const double rate : {0.0001, 0.01, 0.1, 0.5, 0.9}) {
    constexpr int kWidth = 67, kRows = 20'000;
    const std::vector<float> found =
        masks(dropout_layers(kWidth, 1, rate), {.seed = 3, .step = 8}, kRows, Use::inference);
    const double p = std::round(rate * 65536) / 65536;
    EXPECT_NEAR(p, rate, 0x1p-17);
    const auto error = [&](double count) { return 5 * std::sqrt(p * (1 - p) / count); };
    std::vector<double> dropped(kWidth);
    double all = 0, sum = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_TRUE(found[i] == 0 || found[i] == static_cast<float>(1 / (1 - p)));
      dropped[i % kWidth] += found[i] == 0;
      all += found[i] == 0;
      sum += found[i];
    }
    const auto size = static_cast<double>(found.size());
    EXPECT_NEAR(all / size, p, error(size));
    EXPECT_NEAR(sum / size, 1, error(size) / (1 - p));
    for (const double count : dropped) EXPECT_NEAR(count / kRows, p, error(kRows)) << rate;
  }
}

// Half of the bits are equal in two independent masks with p = 1/2.
TEST(Dropout, MasksOfOtherRowsLayersStepsStreamsAndSeedsAreIndependent) {
  constexpr int kWidth = 96, kRows = 64;
  const Structure one = dropout_layers(kWidth, 1, 0.5), two = dropout_layers(kWidth, 2, 0.5);
  const TrainingPass pass{.seed = 5, .step = 9, .stream = 1};
  const std::vector<float> base = masks(one, pass, kRows);
  EXPECT_EQ(masks(one, pass, kRows), base);
  std::vector<TrainingPass> others(5, pass);
  others[0].seed = 6, others[1].seed += std::uint64_t{1} << 32;
  others[2].step = 10, others[3].step += std::uint64_t{1} << 32;
  others[4].stream = 2;
  std::vector<std::vector<float>> different;
  for (const TrainingPass& other : others) different.push_back(masks(one, other, kRows));
  for (const int rows : {1, kRows}) {  // further rows
    const std::vector<float> more = masks(one, pass, kRows + rows);
    different.emplace_back(more.end() - static_cast<std::ptrdiff_t>(base.size()), more.end());
  }
  // Where the first of two layers keeps a feature, the second decides.
  different.emplace_back();
  const std::vector<float> both = masks(two, pass, kRows);
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_TRUE(base[i] != 0 || both[i] == 0);
    different.back().push_back(base[i] != 0 ? both[i] : static_cast<float>(i % 2));
  }
  for (const std::vector<float>& other : different) {
    double equal = 0;
    for (std::size_t i = 0; i < base.size(); ++i) equal += (base[i] == 0) == (other[i] == 0);
    const auto size = static_cast<double>(base.size());
    EXPECT_NEAR(equal / size, 0.5, 5 * 0.5 / std::sqrt(size)) << &other - &different[0];
  }
}

// A row has its mask wherever threads divide the batch, at multiples of a block or not.
TEST(Dropout, MasksDoNotDependOnThreads) {
  constexpr int kWidth = 13, kRows = 256;
  const Structure net = dropout_layers(kWidth, 2, 0.25);
  const std::vector<float> whole = masks(net, {.seed = 1, .step = 2}, kRows);
  for (const int cut : {16, 32, 48, 128, 240})
    EXPECT_EQ(masks(net, {.seed = 1, .step = 2}, kRows, Use::training, cut), whole) << cut;
}

// A row at a time, also where a workspace for inference would take the path of a single sample.
TEST(Dropout, SingleRowsAreTrainedLikeOthers) {
  const Structure net = dropout_layers(40, 1, 0.5);
  const std::vector<float> three = masks(net, {.seed = 4}, 3);
  const std::vector<float> first = masks(net, {.seed = 4}, 1, Use::inference);
  EXPECT_EQ(std::vector<float>(three.begin(), three.begin() + 40), first);
}

TEST(Dropout, ARateOfZeroDropsNothing) {
  for (const float factor : masks(dropout_layers(9, 1, 0), {}, 100)) EXPECT_EQ(factor, 1);
}

}  // namespace
}  // namespace hotloop
