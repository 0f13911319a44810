#include "algo/common/learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include <hotloop/env.hpp>
#include <hotloop/error.hpp>

#include "evaluate/evaluation.hpp"
#include "tests/train/small_spec.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

// A dot moves sideways on a grid of 3 x 4. The observation is its place (channel 0) and its goal
// (channel 1, at the right end of its row).
struct DotOnAGrid {
  static constexpr auto spec = EnvSpec{.name = "dot_on_a_grid",
                                       .obs = 24,
                                       .actions = 2,
                                       .max_steps = 20,
                                       .parts = {{{"grid", {3, 4, 2}}}}};
  int row = 0, column = 0;
  void reset(Rng& rng) { row = static_cast<int>(rng.below(3)), column = 0; }
  void observe(std::span<float> obs) const {
    std::fill(obs.begin(), obs.end(), 0.0f);
    obs[(row * 4 + column) * 2] = 1;
    obs[(row * 4 + 3) * 2 + 1] = 1;
  }
  Step step(int action, Rng&) {
    column = std::max(0, column + (action == 1 ? 1 : -1));
    return {column == 3 ? 1.0f : -0.1f, column == 3};
  }
};
HOTLOOP_ENV(DotOnAGrid)

TrainSpec convolutional(const std::string& env) {
  TrainSpec spec = small_spec();
  spec.env = env;
  spec.net.channels = {4, 5};
  return spec;
}

TEST(Learner, ConvolutionsTakeTheirGridFromTheEnvironment) {
  const Structure net = network_structure(convolutional("dot_on_a_grid"));
  const auto& first = std::get<ConvLayer>(net.layers[0]);
  EXPECT_EQ(first.height, 3);
  EXPECT_EQ(first.width, 4);
  EXPECT_EQ(first.in, 2);
  EXPECT_EQ(net.describe(), "3x4x2 conv 4-5, 32-2 relu, 2279 parameters");
  TrainSpec flat = convolutional("dot_on_a_grid");
  flat.net.channels = {};
  EXPECT_EQ(network_structure(flat).describe(), "24-32-2 relu, 866 parameters");
}

TEST(Learner, ConvolutionsOverSomethingElseAreRefused) {
  try {
    network_structure(convolutional("cartpole"));
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()),
              "net.channels: the observation of cartpole is not a grid [height, width, channels]; "
              "leave it out (net.channels: []) or choose another environment");
  }
}

// Three steps to the right: 1 - 0.2.
TEST(Learner, ConvolutionsLearn) {
  const TrainSpec spec = convolutional("dot_on_a_grid");
  Trainer trainer(spec);
  while (!trainer.done()) trainer.round();
  Evaluator evaluator(spec.world(), spec.evaluation, 1, network_structure(spec),
                      network_head(spec));
  ThreadTeam team(1);
  EXPECT_NEAR(evaluator.run(trainer.network().online(), nullptr, team).mean, 0.8, 1e-5);
}

}  // namespace
}  // namespace hotloop
