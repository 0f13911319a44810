#include "memory/staged_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/memory/random_play.hpp"

namespace hotloop {
namespace {

template <class T>
void expect_equal(std::span<const T> is, const std::vector<T>& expected) {
  ASSERT_TRUE(std::ranges::equal(is, expected));
}

// What comes out is what went in, for both kinds of actions, over several rounds.
TEST(StagedSteps, ReturnWhatWasPushed) {
  std::uint32_t lane = 0;
  for (const int action_size : {0, 1, 5, 64}) {
    const bool discrete = action_size == 0;
    const ReplayShape shape{.lanes = 3,
                            .obs = 4,
                            .actions = discrete ? 6 : 0,
                            .action_size = action_size,
                            .masks = discrete,
                            .max_steps = 3};
    constexpr int kStaged = 5;
    StagedSteps staged(kStaged, shape.lanes, shape.obs, shape.masks ? shape.actions : 0,
                       action_size);
    RandomPlay play(shape, lane++);
    for (int round = 0; round < 3; ++round) {
      std::vector<RandomPlay> given;
      staged.clear();
      for (int t = 0; t < kStaged; ++t) {
        staged.add(play.step());
        given.push_back(play);
      }
      ASSERT_EQ(staged.size(), kStaged);
      for (int t = 0; t < kStaged; ++t) {
        const Transitions step = staged[t];
        expect_equal(step.actions, given[t].actions);
        expect_equal(step.continuous_actions, given[t].continuous_actions);
        expect_equal(step.rewards, given[t].rewards);
        expect_equal(step.terminated, given[t].terminated);
        expect_equal(step.truncated, given[t].truncated);
        expect_equal(step.next_obs, given[t].obs);
        expect_equal(step.next_mask, given[t].mask);
        if (std::ranges::count(given[t].truncated, 1) == 0) continue;  // final rows are not read
        expect_equal(step.final_obs, given[t].final_obs);
        expect_equal(step.final_mask, given[t].final_mask);
      }
    }
  }
}

// Two observations, an action of either kind, reward, two flags, two masks.
TEST(StagedSteps, BytesWorkedByHand) {
  EXPECT_EQ(StagedSteps::bytes_per_transition(4, 0, 0), 2 * 16 + 4 + 4 + 2);
  EXPECT_EQ(StagedSteps::bytes_per_transition(4, 6, 0), 2 * 16 + 4 + 4 + 2 + 12);
  EXPECT_EQ(StagedSteps::bytes_per_transition(4, 0, 10), 2 * 16 + 40 + 4 + 2);
}

}  // namespace
}  // namespace hotloop
