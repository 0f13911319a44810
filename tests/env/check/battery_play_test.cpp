// The comparison behind the battery must see every field, or worlds that differ in it would pass.
#include "env/check/battery_play.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotloop {
namespace {

constexpr EnvSpec kSpec{.name = "two rows",
                        .obs = 2,
                        .actions = 2,
                        .measures = {"score", "fuel"},
                        .reward_parts = {"goal", "cost"}};

// Two rows; the second has just ended.
struct Shown {
  std::vector<float> obs = {1, 2, 3, 4};
  std::vector<std::uint8_t> mask = {1, 1, 1, 0};
  std::vector<float> rewards = {0.5f, 1.5f};
  std::vector<float> reward_parts = {1, -0.5f, 2, -0.5f};
  std::vector<std::uint8_t> terminated = {0, 1};
  std::vector<std::uint8_t> truncated = {0, 0};
  std::vector<float> final_obs = {5, 6, 7, 8};
  std::vector<std::uint8_t> final_mask = {0, 1, 0, 1};
  std::vector<Episode> finished = {{.total_return = 21, .length = 12, .measures = {7, 8}}};

  PlayResults results() const {
    return {obs,       mask,      rewards,    reward_parts, terminated,
            truncated, final_obs, final_mask, finished};
  }
};

// The reported difference between two equal rows after `change` is applied to the second.
template <class Change>
std::string difference(Change&& change) {
  const Shown expected;
  Shown found;
  change(found);
  return first_difference(kSpec, expected.results(), found.results()).value_or("none");
}

TEST(BatteryPlay, EqualRowsDoNotDiffer) {
  EXPECT_EQ(difference([](Shown&) {}), "none");
}

TEST(BatteryPlay, EveryFieldIsCompared) {
  EXPECT_EQ(difference([](Shown& s) { s.rewards[1] = 2; }), "row 1: reward: expected 1.5, found 2");
  EXPECT_EQ(difference([](Shown& s) { s.terminated[1] = 0; }),
            "row 1: terminated: expected 1, found 0");
  EXPECT_EQ(difference([](Shown& s) { s.truncated[0] = 1; }),
            "row 0: truncated: expected 0, found 1");
  EXPECT_EQ(difference([](Shown& s) { s.obs[2] = 9; }),
            "row 1: observation[0]: expected 3, found 9");
  EXPECT_EQ(difference([](Shown& s) { s.final_obs[3] = 9; }),
            "row 1: final observation[1]: expected 8, found 9");
  EXPECT_EQ(difference([](Shown& s) { s.mask[3] = 1; }), "row 1: mask[1]: expected 0, found 1");
  EXPECT_EQ(difference([](Shown& s) { s.final_mask[2] = 1; }),
            "row 1: final mask[0]: expected 0, found 1");
  EXPECT_EQ(difference([](Shown& s) { s.finished.clear(); }),
            "finished episodes: expected 1, found 0");
  EXPECT_EQ(difference([](Shown& s) { s.finished[0].total_return = 22; }),
            "finished episode 0: expected return 21 after 12 steps, found 22 after 12");
  EXPECT_EQ(difference([](Shown& s) { s.finished[0].length = 13; }),
            "finished episode 0: expected return 21 after 12 steps, found 21 after 13");
  EXPECT_EQ(difference([](Shown& s) { s.finished[0].measures[1] = 9; }),
            "finished episode 0: fuel: expected 8, found 9");
  EXPECT_EQ(difference([](Shown& s) { s.reward_parts[3] = 0; }),
            "row 1: part cost of the reward: expected -0.5, found 0");
}

// A row that continues has no final observation; the buffer holds one of an earlier episode.
TEST(BatteryPlay, OnlyRowsThatEndedHaveAFinalState) {
  EXPECT_EQ(difference([](Shown& s) {
              s.final_obs[0] = 9;
              s.final_mask[0] = 1;
            }),
            "none");
}

}  // namespace
}  // namespace hotloop
