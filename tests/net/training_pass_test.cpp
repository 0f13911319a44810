// Training passes of networks with dropout and batch norm, which differ from evaluation: fast
// against slow twin, twin against finite differences, and independence of threads, padding and
// leftovers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "net/network.hpp"
#include "reference/training_network.hpp"
#include "tests/allocations.hpp"
#include "tests/net/random_net.hpp"

namespace hotloop {
namespace {

using Table = reference::Table<double>;

// A random network with random parameters and statistics.
struct TrainedNet {
  Structure net;
  std::vector<float> parameters;

  TrainedNet(const Structure& structure, Rng& rng) : net(structure), parameters(net.storage) {
    for (const TensorInfo& tensor : tensors(net)) {
      const float passes = rng.below(2) != 0 ? 99'999.0f : 100'000.0f;
      for (int r = 0; r < tensor.rows; ++r) {
        for (int c = 0; c < tensor.columns; ++c) {
          float& value = parameters[tensor.offset + r * tensor.stride + c];
          value = static_cast<float>(rng.normal() / std::sqrt(tensor.columns));
          if (tensor.name.ends_with(".scale") || tensor.name.ends_with(".mean"))
            value = static_cast<float>(rng.normal());
          if (tensor.name.ends_with(".variance")) value = static_cast<float>(rng.uniform(0.2, 4));
          if (tensor.name.ends_with(".passes")) value = passes;
        }
      }
    }
  }
};

Structure random_structure(Activation activation, int widest, bool batch_norm, Rng& rng) {
  const auto width = [&](int min) { return min + static_cast<int>(rng.below(widest)); };
  NetOptions options{.hidden = {}, .activation = activation};
  options.layer_norm = rng.below(2) != 0;
  options.dropout = rng.below(3) == 0 ? 0 : rng.uniform(0.01, 0.4);
  options.batch_norm = batch_norm;
  options.dueling = rng.below(3) == 0;
  for (std::uint32_t l = rng.below(4); l > 0; --l) options.hidden.push_back(width(3));
  GridShape grid;
  int inputs = width(1);
  if (rng.below(4) == 0) {
    grid = {3, 2, 2};
    inputs = grid.size();
    options.channels = {3};
  }
  return make_mlp(inputs, 1 + static_cast<int>(rng.below(4)), options, 1, grid);
}

TrainingPass random_training_pass(Rng& rng) {
  return {.seed = rng.bits() * std::uint64_t{5'000'000'001},
          .step = rng.bits() * std::uint64_t{3'000'000'001},
          .stream = rng.below(256)};
}

Table rows_of(std::span<const float> values, int width) {
  Table table;
  for (std::size_t at = 0; at < values.size(); at += width) {
    const auto row = values.subspan(at, width);
    table.emplace_back(row.begin(), row.end());
  }
  return table;
}

// Rows [batch, outputs] of a workspace, and back.
std::vector<float> output_rows(const Structure& net, int batch, const Workspace& workspace) {
  std::vector<float> rows;
  for (int row = 0; row < batch; ++row) {
    for (int o = 0; o < net.outputs; ++o)
      rows.push_back(workspace.outputs(row / kLanes)[o * kLanes + row % kLanes]);
  }
  return rows;
}
void set_output_gradient(const Structure& net, std::span<const float> dy, Workspace& workspace) {
  const int batch = static_cast<int>(dy.size()) / net.outputs;
  for (int row = 0; row < block_count(batch) * kLanes; ++row) {
    for (int o = 0; o < net.outputs; ++o) {
      workspace.output_gradient(row / kLanes)[o * kLanes + row % kLanes] =
          row < batch ? dy[row * net.outputs + o] : 0.0f;
    }
  }
}
std::vector<float> input_gradient_rows(const Structure& net, int batch, Workspace& workspace) {
  std::vector<float> rows;
  for (int row = 0; row < batch; ++row) {
    for (int i = 0; i < net.inputs; ++i)
      rows.push_back(workspace.input_gradient(row / kLanes)[i * kLanes + row % kLanes]);
  }
  return rows;
}

// Within 1e-4 of the largest number: terms of the sums cancel.
void expect_near(std::span<const float> found, const std::vector<double>& expected,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  double size = 1;
  for (const double value : expected) size = std::max(size, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4 * size) << what << " " << i;
}
std::vector<double> flat(const Table& table) {
  std::vector<double> values;
  for (const auto& row : table) values.insert(values.end(), row.begin(), row.end());
  return values;
}

class TrainingPassTest : public testing::TestWithParam<Activation> {};

constexpr int kBatches[] = {1, 7, 33, 100, 256};

TEST_P(TrainingPassTest, EqualsItsSlowTwin) {
  Rng rng(60, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 60; ++round) {
    const int batch = kBatches[round % 5];
    const TrainedNet trained(random_structure(GetParam(), 40, round % 4 != 3, rng), rng);
    const Structure& net = trained.net;
    SCOPED_TRACE(net.describe() + ", batch " + std::to_string(batch));
    const Plan plan(net);
    Workspace workspace(net, 256, Use::input_gradients);
    const auto x = random_floats(batch * net.inputs, rng),
               dy = random_floats(batch * net.outputs, rng);
    const TrainingPass pass = random_training_pass(rng);
    workspace.set_training(pass);
    forward(plan, trained.parameters, x.data(), batch, workspace);

    const auto exact = convert<double>(trained.parameters);
    const auto trace =
        reference::forward_training<double>(net, exact, rows_of(x, net.inputs), pass);
    std::vector<double> y, expected(net.storage);
    for (int row = 0; row < batch; ++row) {
      const auto outputs = trace.outputs(net, row);
      y.insert(y.end(), outputs.begin(), outputs.end());
    }
    expect_near(output_rows(net, batch, workspace), y, "output");
    const Table dx = reference::backward_training<double>(net, exact, trace,
                                                          rows_of(dy, net.outputs), pass, expected);
    set_output_gradient(net, dy, workspace);
    std::vector<float> gradient(net.storage), both(net.storage), twice(net.storage);
    for (const TensorInfo& tensor : tensors(net)) {  // leftovers, but not in padding
      for (int r = 0; tensor.offset < net.trainable && r < tensor.rows; ++r)
        std::fill_n(&both[tensor.offset + r * tensor.stride], tensor.columns, 7.0f);
    }
    backward(plan, trained.parameters, batch, workspace, gradient);
    expect_near(gradient, expected, "parameter");
    backward_to_inputs(plan, trained.parameters, batch, workspace, nullptr, both);
    EXPECT_EQ(both, gradient);
    const std::vector<float> inputs = input_gradient_rows(net, batch, workspace);
    expect_near(inputs, flat(dx), "input");
    // Without the gradient of the parameters; and added to another gradient.
    backward_to_inputs(plan, trained.parameters, batch, workspace);
    EXPECT_EQ(input_gradient_rows(net, batch, workspace), inputs);
    backward(plan, trained.parameters, batch, workspace, twice);
    backward(plan, trained.parameters, batch, workspace, twice, true);
    for (double& value : expected) value *= 2;
    expect_near(twice, expected, "accumulated parameter");
  }
}

// Of a whole batch, through its statistics. The masks are the same for all, and r and d are
// constants.
TEST_P(TrainingPassTest, SlowTwinEqualsFiniteDifferences) {
  Rng rng(61, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  double size = 0;
  for (int round = 0; round < 10; ++round) {
    const TrainedNet trained(random_structure(GetParam(), 5, round % 4 != 3, rng), rng);
    const Structure& net = trained.net;
    const int batch = round % 5 == 0 ? 1 : 2 + static_cast<int>(rng.below(6));
    auto p = convert<double>(trained.parameters);
    Table x = rows_of(random_floats(batch * net.inputs, rng), net.inputs);
    const Table dy = rows_of(random_floats(batch * net.outputs, rng), net.outputs);
    const TrainingPass pass = random_training_pass(rng);
    const auto trace = reference::forward_training<double>(net, p, x, pass);
    const auto loss = [&] {
      const auto now = reference::forward_training<double>(net, p, x, pass, &trace);
      double sum = 0;
      for (int row = 0; row < batch; ++row) {
        const auto y = now.outputs(net, row);
        for (int o = 0; o < net.outputs; ++o) sum += y[o] * dy[row][o];
      }
      return sum;
    };
    const auto expect_slope = [&](double& value, double slope, const std::string& what) {
      const double keep = value, h = 1e-6;
      value = keep + h;
      const double up = loss();
      value = keep - h;
      const double down = loss();
      value = keep;
      EXPECT_NEAR(slope, (up - down) / (2 * h), 1e-4 * (1e-2 + std::abs(slope)))
          << net.describe() << " " << what;
      size = std::max(size, std::abs(slope));
    };
    std::vector<double> gradient(net.storage);
    Table dx = reference::backward_training<double>(net, p, trace, dy, pass, gradient);
    for (const TensorInfo& tensor : tensors(net)) {
      if (tensor.offset >= net.trainable) continue;  // statistics are constants too
      for (int r = 0; r < tensor.rows; ++r) {
        for (int c = 0; c < tensor.columns; ++c) {
          const std::size_t at = tensor.offset + r * tensor.stride + c;
          expect_slope(p[at], gradient[at], tensor.name);
        }
      }
    }
    for (int row = 0; row < batch; ++row) {
      for (int i = 0; i < net.inputs; ++i) expect_slope(x[row][i], dx[row][i], "input");
    }
  }
  EXPECT_GT(size, 0.1);  // there was something to compare
}

// Evaluation is row by row, with the running statistics and without masks, also after training.
TEST_P(TrainingPassTest, EvaluationEqualsTheFormulaRowByRow) {
  Rng rng(62, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 40; ++round) {
    const int batch = kBatches[round % 5];
    const TrainedNet trained(random_structure(GetParam(), 40, round % 4 != 3, rng), rng);
    const Structure& net = trained.net;
    SCOPED_TRACE(net.describe());
    const Plan plan(net);
    Workspace workspace(net, 256, Use::input_gradients), one(net, 1, Use::inference);
    const auto x = random_floats(batch * net.inputs, rng),
               dy = random_floats(batch * net.outputs, rng);
    if (round % 2 == 0) {
      workspace.set_training(random_training_pass(rng));
      forward(plan, trained.parameters, x.data(), batch, workspace);
      workspace.set_evaluation();
    }
    forward(plan, trained.parameters, x.data(), batch, workspace);
    const auto exact = convert<double>(trained.parameters);
    std::vector<double> y, dx, expected(net.storage);
    std::vector<float> alone;
    for (int row = 0; row < batch; ++row) {
      const auto in = convert<double>(std::span(x).subspan(row * net.inputs, net.inputs));
      const auto d = convert<double>(std::span(dy).subspan(row * net.outputs, net.outputs));
      const auto trace = reference::forward<double>(net, exact, in);
      y.insert(y.end(), trace.y.back().begin(), trace.y.back().end());
      const auto d_in = reference::backward<double>(net, exact, trace, d, expected);
      dx.insert(dx.end(), d_in.begin(), d_in.end());
      forward(plan, trained.parameters, x.data() + row * net.inputs, 1, one);
      for (int o = 0; o < net.outputs; ++o) alone.push_back(one.outputs(0)[o * kLanes]);
    }
    expect_near(output_rows(net, batch, workspace), y, "output");
    expect_near(alone, y, "output of a single row");
    set_output_gradient(net, dy, workspace);
    std::vector<float> gradient(net.storage);
    backward_to_inputs(plan, trained.parameters, batch, workspace, nullptr, gradient);
    expect_near(gradient, expected, "parameter");
    expect_near(input_gradient_rows(net, batch, workspace), dx, "input");
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, TrainingPassTest,
                         testing::Values(Activation::linear, Activation::relu, Activation::tanh,
                                         Activation::gelu),
                         [](const auto& test) {
                           return std::string(kActivationNames[static_cast<int>(test.param)]);
                         });

// What larger batches left in the lanes beyond the batch, even NaN, changes nothing.
TEST(TrainingPass, PaddingAndLeftoversDoNotCount) {
  Rng rng(63, Purpose::test, 0, 0);
  for (const int batch : {1, 7, 33, 100}) {
    const TrainedNet trained(
        make_mlp(9, 2, {.hidden = {20, 12}, .dropout = 0.1, .batch_norm = true}), rng);
    const Structure& net = trained.net;
    const Plan plan(net);
    Workspace fresh(net, 128, Use::input_gradients), used(net, 128, Use::input_gradients);
    const auto x = random_floats(batch * net.inputs, rng),
               dy = random_floats(batch * net.outputs, rng);
    const TrainingPass pass = random_training_pass(rng);
    const std::vector<float> nan(128 * 9, std::nanf(""));
    std::vector<float> gradient(net.storage), again(net.storage);
    used.set_training(pass);
    forward(plan, trained.parameters, nan.data(), 128, used);
    set_output_gradient(net, std::span(nan).first(128 * 2), used);
    backward_to_inputs(plan, trained.parameters, 128, used, nullptr, again);
    std::fill(again.begin(), again.end(), 0.0f);
    std::vector<float> statistics = trained.parameters, others = statistics;
    for (Workspace* workspace : {&fresh, &used}) {
      workspace->set_training(pass);
      forward(plan, trained.parameters, x.data(), batch, *workspace);
      set_output_gradient(net, dy, *workspace);
    }
    backward_to_inputs(plan, trained.parameters, batch, fresh, nullptr, gradient);
    backward_to_inputs(plan, trained.parameters, batch, used, nullptr, again);
    EXPECT_EQ(output_rows(net, batch, fresh), output_rows(net, batch, used));
    EXPECT_EQ(input_gradient_rows(net, batch, fresh), input_gradient_rows(net, batch, used));
    EXPECT_EQ(gradient, again);
    EXPECT_TRUE(
        std::all_of(gradient.begin(), gradient.end(), [](float g) { return std::isfinite(g); }));
    update_statistics(plan, fresh, statistics);
    update_statistics(plan, used, others);
    EXPECT_EQ(statistics, others);
  }
}

TEST(TrainingPass, ForwardAgainEqualsForwardOfTheSameRows) {
  Rng rng(64, Purpose::test, 0, 0);
  for (const bool batch_norm : {false, true}) {
    const TrainedNet trained(
        make_mlp(5, 2, {.hidden = {9}, .dropout = 0.3, .batch_norm = batch_norm}), rng);
    const Plan plan(trained.net);
    std::vector<float> others = trained.parameters;
    for (float& value : others) value *= 0.75f;
    Workspace again(trained.net, 40, Use::training), fresh(trained.net, 40, Use::training);
    const auto x = random_floats(40 * 5, rng);
    const TrainingPass first{.seed = 1, .step = 1}, second{.seed = 1, .step = 2};
    again.set_training(first);
    forward(plan, trained.parameters, x.data(), 40, again);
    again.set_training(second);
    forward_loaded(plan, others, 40, again);
    fresh.set_training(second);
    forward(plan, others, x.data(), 40, fresh);
    EXPECT_EQ(output_rows(trained.net, 40, again), output_rows(trained.net, 40, fresh));
  }
}

TEST(TrainingPass, AllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  Rng rng(65, Purpose::test, 0, 0);
  for (int round = 0; round < 20; ++round) {
    const TrainedNet trained(random_structure(Activation::relu, 60, round % 2 == 0, rng), rng);
    const Structure& net = trained.net;
    const Plan plan(net);
    Workspace workspace(net, 50, Use::input_gradients);
    const auto x = random_floats(50 * net.inputs, rng);
    std::vector<float> gradient(net.storage), parameters = trained.parameters;
    const std::int64_t before = allocations();
    workspace.set_training({.seed = 1});
    forward(plan, parameters, x.data(), 50, workspace);
    backward(plan, parameters, 50, workspace, gradient);
    backward_to_inputs(plan, parameters, 50, workspace);
    if (net.needs_whole_batch()) update_statistics(plan, workspace, parameters);
    ASSERT_EQ(allocations(), before) << net.describe();
  }
}

}  // namespace
}  // namespace hotloop
