#include "algo/common/continuous/episode_probe.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hotloop {
namespace {

// One environment with one observed number and one action; gamma 1/2, rewards times 2, bonus 10.
struct Probe {
  EpisodeProbe probe{1, 1, 1};
  int n_step = 1;
  void step(float action, float reward, bool terminated, bool truncated, float next) {
    const std::vector<float> actions = {action}, rewards = {reward}, obs = {next};
    const std::vector<std::uint8_t> ends = {terminated}, cuts = {truncated};
    probe.add({.actions = {},
               .rewards = rewards,
               .terminated = ends,
               .truncated = cuts,
               .next_obs = obs,
               .next_mask = {},
               .final_obs = {},
               .final_mask = {},
               .continuous_actions = actions},
              2, 10, n_step, 0.5);
  }
};

// Two steps: 2 * 3 + (2 * 5 + 10) / 2 = 16, of the first state and action.
TEST(EpisodeProbe, SumsWhatFollowedTheFirstState) {
  Probe p;
  const std::vector<float> first = {7};
  p.probe.begin(first);
  p.step(0.25f, 3, false, false, 8);
  EXPECT_EQ(p.probe.count(), 0);
  p.step(0.5f, 5, true, false, 9);
  ASSERT_EQ(p.probe.count(), 1);
  EXPECT_EQ(p.probe.obs()[0], 7);
  EXPECT_EQ(p.probe.actions()[0], 0.25f);
  EXPECT_DOUBLE_EQ(p.probe.returns()[0], 16);
  // The next episode begins with the state after the reset.
  p.step(-1, 1, true, false, 4);
  ASSERT_EQ(p.probe.count(), 2);
  EXPECT_EQ(p.probe.obs()[1], 9);
  EXPECT_EQ(p.probe.actions()[1], -1);
  EXPECT_DOUBLE_EQ(p.probe.returns()[1], 2);
}

// Targets of two steps bootstrap from the third state: 2 * 3 + 2 * 5 / 2 + (2 * 7 + 10) / 4 = 17.
TEST(EpisodeProbe, CountsTheBonusOnlyWhereTargetsBootstrap) {
  Probe p;
  p.n_step = 2;
  const std::vector<float> first = {0};
  p.probe.begin(first);
  p.step(0, 3, false, false, 1);
  p.step(0, 5, false, false, 2);
  p.step(0, 7, true, false, 3);
  ASSERT_EQ(p.probe.count(), 1);
  EXPECT_DOUBLE_EQ(p.probe.returns()[0], 17);
}

// After two steps the rest would weigh 1/4, after three 1/8.
TEST(EpisodeProbe, CountsACutEpisodeIfItsRestWeighsLittle) {
  Probe p;
  const std::vector<float> first = {0};
  p.probe.begin(first);
  p.step(0, 1, false, false, 0);
  p.step(0, 1, false, true, 5);
  EXPECT_EQ(p.probe.count(), 0);
  for (int i = 0; i < 3; ++i) p.step(0, 1, false, i == 2, 6);
  ASSERT_EQ(p.probe.count(), 1);
  EXPECT_EQ(p.probe.obs()[0], 5);
  EXPECT_DOUBLE_EQ(p.probe.returns()[0], 2 + 12.0 / 2 + 12.0 / 4);
}

TEST(EpisodeProbe, KeepsTheLatest) {
  Probe p;
  const std::vector<float> first = {0};
  p.probe.begin(first);
  for (int i = 0; i < EpisodeProbe::kRows + 3; ++i)
    p.step(0, static_cast<float>(i), true, false, 0);
  EXPECT_EQ(p.probe.count(), EpisodeProbe::kRows);
  EXPECT_DOUBLE_EQ(p.probe.returns()[2], 2 * (EpisodeProbe::kRows + 2));
  EXPECT_DOUBLE_EQ(p.probe.returns()[3], 2 * 3);
}

}  // namespace
}  // namespace hotloop
