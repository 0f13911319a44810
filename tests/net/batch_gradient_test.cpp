// The gradient of a batch has the same bits whether one thread computes it or several.
#include "net/batch_gradient.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <hotloop/rng.hpp>

#include "algo/common/algorithm.hpp"
#include "spec/spec.hpp"
#include "tests/net/random_net.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

using Floats = std::vector<float>;

// Forward and backward with that many threads. dL/dy of a row is a function of y and the row.
Floats gradient_with(int threads, const Structure& net, const Floats& parameters,
                     const Floats& rows, int batch) {
  const Plan plan(net);
  Workspace workspace(net, batch, Use::training, threads);
  Floats gradient(net.storage);  // padding stays zero
  BatchSplit split(net, batch, threads);
  split.threads = threads;  // even if there is little to do
  ThreadTeam team(threads);
  for (int time = 0; time < 2; ++time) {  // the second must overwrite the first
    compute_gradient(
        {plan, parameters, workspace, gradient}, split, team, [&](const RowRange& range) {
          forward(plan, parameters, rows.data(), range, workspace);
          for_each_block(range, [&](const BlockPart& at) {
            const float* y = workspace.outputs(at.block) + at.lane;
            float* dy = workspace.output_gradient(at.block) + at.lane;
            for (int o = 0; o < net.outputs * kLanes; o += kLanes) {
              for (int lane = 0; lane < at.width(); ++lane)
                dy[o + lane] = lane < at.count
                                   ? y[o + lane] + 0.01f * static_cast<float>(at.row() + lane)
                                   : 0.0f;
            }
          });
        });
  }
  return gradient;
}

void expect_same_bits(const Structure& net, const Floats& parameters, const Floats& rows,
                      int batch) {
  const Floats one = gradient_with(1, net, parameters, rows, batch);
  for (const int threads : {2, 3, 7}) {
    const Floats several = gradient_with(threads, net, parameters, rows, batch);
    ASSERT_EQ(one, several) << net.describe() << ", threads " << threads << ", batch " << batch;
  }
}

class BatchGradient : public testing::TestWithParam<Activation> {};

TEST_P(BatchGradient, OfRandomNetworksDoesNotDependOnThreads) {
  Rng rng(31, Purpose::test, static_cast<std::uint32_t>(GetParam()), 0);
  for (int round = 0; round < 25; ++round) {
    const RandomNet random(GetParam(), 90, rng);
    const int batch = 1 + static_cast<int>(rng.below(300));
    expect_same_bits(random.structure, random.parameters,
                     random_floats(batch * random.structure.inputs, rng), batch);
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, BatchGradient,
                         testing::Values(Activation::relu, Activation::tanh, Activation::gelu),
                         [](const auto& test) {
                           return std::string(kActivationNames[static_cast<int>(test.param)]);
                         });

// Attention, graphs of neurons, convolutions, the graph transformer, state-independent stds: on first
// observations of their environments.
TEST(BatchGradient, OfReadyMadeNetworksDoesNotDependOnThreads) {
  for (const char* name : {"sfc_before", "topology_64", "snake_dqn_cnn", "durotaxis",
                           "pendulum_ppo", "cartpole_dueling", "pendulum_tqc"}) {
    TrainSpec spec = load_spec(name);
    spec.envs = 75;
    spec.learn.train_every = 75;
    spec.algorithm->derive(spec);
    Trainer trainer(spec);
    const std::span<const float> obs = trainer.env().obs();
    LearntNetwork& network = trainer.network();
    expect_same_bits(network.structure(), {network.online().begin(), network.online().end()},
                     {obs.begin(), obs.end()}, spec.envs);
  }
}

}  // namespace
}  // namespace hotloop
