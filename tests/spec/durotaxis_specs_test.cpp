// The durotaxis specs have the original's numbers (its specification, sections 10, 11 and 18).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/train/small_spec.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

// 368,896 in the encoder, 198,794 in the actor, 132,742 in the critic; the backbones are left out.
TEST(DurotaxisSpecs, TheNetworkHasTheParametersOfTheOriginal) {
  for (const char* name : {"durotaxis", "durotaxis_seed_bounds", "durotaxis_stage1"}) {
    const Structure net = network_structure(load_spec(name));
    EXPECT_EQ(net.parameters, 368'896u + 198'794 + 132'742);
    EXPECT_EQ(net.parameters, 700'432u);
    EXPECT_EQ(net.outputs, 5 + 5 + 6);
  }
}

TEST(DurotaxisSpecs, EntropyWeightAndLearningRate) {
  const TrainSpec spec = load_spec("durotaxis_seed_bounds");
  const auto at = [](const Schedule& schedule, std::int64_t episodes) {
    return schedule.at({.env_steps = 0, .updates = 0, .episodes = episodes});
  };
  EXPECT_DOUBLE_EQ(at(ppo(spec).ent_coef, 0), 0.28);
  EXPECT_NEAR(at(ppo(spec).ent_coef, 150), 0.18, 1e-12);
  EXPECT_NEAR(at(ppo(spec).ent_coef, 300), 0.08, 1e-12);
  EXPECT_NEAR(at(ppo(spec).ent_coef, 900), 0.08, 1e-12);
  EXPECT_DOUBLE_EQ(at(spec.optimiser.learning_rate, 0), 3e-4);
  EXPECT_NEAR(at(spec.optimiser.learning_rate, 250), 1.5e-4, 1e-12);
  EXPECT_NEAR(at(spec.optimiser.learning_rate, 500), 0, 1e-12);
  EXPECT_NEAR(at(spec.optimiser.learning_rate, 1000), 3e-4, 1e-12);
}

// The reference network gives the same policy and the same values for permuted nodes.
TEST(DurotaxisSpecs, PolicyAndValuesDoNotDependOnTheOrderOfCells) {
  const TrainSpec spec = load_spec("durotaxis");
  Trainer trainer(spec);
  const Structure& net = trainer.network().structure();
  BatchEnv env(make_worlds(spec.world(), 1), 1, 5, Purpose::test);
  ThreadTeam team(1);
  const std::vector<float> action = {0.3f, 8, 2, 0.2f, 0.1f};
  for (int t = 0; t < 4; ++t) env.step(action, team);
  const std::vector<float> obs(env.obs().begin(), env.obs().end());
  constexpr int kGraph = 19, kMaxCells = 100;
  const float* parents = obs.data() + kGraph + kMaxCells * 14;
  const auto count = static_cast<int>(std::find(parents, parents + kMaxCells, -2.0f) - parents);
  ASSERT_GT(count, 8);
  // Node i becomes node order[i]: the list backwards.
  std::vector<float> permuted = obs;
  for (int i = 0; i < count; ++i) {
    const int to = count - 1 - i;
    const auto move = [&](int first, int width) {
      std::copy_n(&obs[first + i * width], width, &permuted[first + to * width]);
    };
    move(kGraph, 11);
    move(kGraph + kMaxCells * 11, 3);
    const float parent = parents[i];
    permuted[kGraph + kMaxCells * 14 + to] = parent < 0 ? parent : count - 1 - parent;
  }
  Workspace a(net, 1, Use::inference), b(net, 1, Use::inference);
  forward(trainer.network().plan(), trainer.network().online(), obs.data(), 1, a);
  forward(trainer.network().plan(), trainer.network().online(), permuted.data(), 1, b);
  for (int o = 0; o < net.outputs; ++o) {
    EXPECT_NEAR(a.outputs(0)[o * kLanes], b.outputs(0)[o * kLanes], 1e-5) << o;
  }
}

}  // namespace
}  // namespace hotloop
