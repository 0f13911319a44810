// The SFC specs have the original's counts (its specification, sections 12 and 17.9).
#include <gtest/gtest.h>

#include <algorithm>

#include "algo/dqn/learner.hpp"
#include "train/feasible.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

constexpr int kFullEpisode = 10'050;

// The spec with a small network instead of its own; counts do not depend on it.
TrainSpec with_small_network(const std::string& name, std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.end(),
                   {"net.branches={}", "net.hidden=[8]",
                    "run.steps=" + std::to_string(kFullEpisode), "run.episodes=0"});
  return load_spec(name, overrides);
}

DqnLearner& learner_of(Trainer& trainer) { return dynamic_cast<DqnLearner&>(trainer.learner()); }

Counters counters_after(const TrainSpec& spec) {
  Trainer trainer(spec);
  while (!trainer.done()) trainer.round();
  EXPECT_EQ(trainer.counters().env_steps, kFullEpisode);
  EXPECT_EQ(learner_of(trainer).replay().size(), 10'000);  // older ones were overwritten
  return trainer.counters();
}

TEST(SfcSpecs, AFullEpisodeHasTheUpdatesOfTheOriginal) {
  EXPECT_EQ(counters_after(with_small_network("sfc_seed")).updates, 41);
  EXPECT_EQ(counters_after(with_small_network("sfc_before")).updates, 10'050);
  EXPECT_EQ(counters_after(with_small_network("sfc_before", {"algo.learning_starts=31"})).updates,
            10'019);
}

TEST(SfcSpecs, ExplorationFallsEveryTwentyEpisodes) {
  const Schedule epsilon = options_of<DqnOptions>(load_spec("sfc_seed")).explore.epsilon;
  const auto after = [&](std::int64_t updates) {  // the original's term for twenty episodes
    return epsilon.at({.env_steps = 0, .updates = 0, .episodes = 20 * updates});
  };
  EXPECT_DOUBLE_EQ(after(0), 1);
  EXPECT_NEAR(after(1), 0.995, 1e-12);
  EXPECT_NEAR(after(100), 0.605770, 1e-6);
  EXPECT_NEAR(after(350), 0.173013, 1e-6);
  EXPECT_DOUBLE_EQ(after(10'000), 0.01);
}

TEST(SfcSpecs, TheTargetEqualsTheOnlineNetworkAtEveryFiftiethUpdateOnly) {
  TrainSpec spec = with_small_network(
      "sfc_seed", {"algo.train_every=50", "algo.train_offset=0", "algo.updates_per_step=0.02"});
  Trainer trainer(spec);
  int equal = 0;
  while (!trainer.done()) {
    trainer.round();
    const auto online = trainer.network().online();
    const auto target = learner_of(trainer).dqn().target();
    const bool is_equal = std::equal(online.begin(), online.end(), target.begin());
    EXPECT_EQ(is_equal, trainer.counters().updates % 50 == 0) << trainer.counters().updates;
    equal += is_equal;
  }
  EXPECT_EQ(trainer.counters().updates, 201);
  EXPECT_EQ(equal, 4);  // at 50, 100, 150, 200
}

TEST(SfcSpecs, TheNetworkEqualsTheSpecification) {
  for (const std::string name : {"sfc_seed", "sfc_before", "sfc_best"})
    EXPECT_EQ(network_structure(load_spec(name)).parameters, 177'294u) << name;
}

}  // namespace
}  // namespace hotloop
