#include "memory/rollout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/allocations.hpp"
#include "tests/memory/random_play.hpp"

namespace hotloop {
namespace {

constexpr int kSteps = 5;
const ReplayShape kShape{.lanes = 3, .obs = 2, .actions = 4, .masks = true, .max_steps = 3};
const RolloutShape kRollout{.steps = kSteps, .lanes = 3, .obs = 2, .actions = 4, .masks = true};

template <class T>
std::vector<T> row(std::span<const T> array, std::size_t index, std::size_t width) {
  return {array.begin() + index * width, array.begin() + (index + 1) * width};
}

std::string everything(Rollout& rollout) {
  std::string bytes;
  rollout.visit([&](std::string_view, auto array, const Limits&) {
    bytes.append(reinterpret_cast<const char*>(array.data()), array.size_bytes());
  });
  return bytes;
}

// Three rollouts in a row; each step is compared with what was pushed.
TEST(Rollout, HoldsWhatWasPushed) {
  RandomPlay play(kShape, 0);
  Rollout rollout(kRollout);
  rollout.begin(play.obs, play.mask);
  int truncations = 0;
  for (int round = 0; round < 3; ++round) {
    for (int t = 0; t < kSteps; ++t) {
      ASSERT_FALSE(rollout.full());
      ASSERT_EQ(rollout.filled(), t);
      ASSERT_EQ(row(rollout.obs(), t, 6), play.obs) << "what the policy acted on";
      ASSERT_EQ(row(rollout.mask(), t, 12), play.mask);
      rollout.push(play.step());
      EXPECT_EQ(row(rollout.actions(), t, 3), play.actions);
      EXPECT_EQ(row(rollout.rewards(), t, 3), play.rewards);
      EXPECT_EQ(row(rollout.terminated(), t, 3), play.terminated);
      EXPECT_EQ(row(rollout.truncated(), t, 3), play.truncated);
      for (int i = 0; i < 3; ++i) {
        if (play.truncated[i] == 0) continue;
        ++truncations;
        EXPECT_EQ(row(rollout.final_obs(), t * 3 + i, 2),
                  row(std::span<const float>(play.final_obs), i, 2));
        EXPECT_EQ(row(rollout.final_mask(), t * 3 + i, 4),
                  row(std::span<const std::uint8_t>(play.final_mask), i, 4));
      }
    }
    EXPECT_TRUE(rollout.full());
    EXPECT_EQ(row(rollout.obs(), kSteps, 6), play.obs);
    EXPECT_EQ(row(rollout.mask(), kSteps, 12), play.mask);
    rollout.restart();
  }
  EXPECT_GT(truncations, 0);
}

TEST(Rollout, AHalfFullRolloutSurvivesACheckpoint) {
  RandomPlay play(kShape, 1);
  Rollout first(kRollout), second(kRollout);
  first.begin(play.obs, play.mask);
  for (int t = 0; t < 2; ++t) first.push(play.step());
  const std::string saved = everything(first);
  std::size_t at = 0;
  second.visit([&](std::string_view, auto array, const Limits&) {
    std::memcpy(array.data(), saved.data() + at, array.size_bytes());
    at += array.size_bytes();
  });
  EXPECT_EQ(second.filled(), 2);
  while (!first.full()) {
    const Transitions step = play.step();
    first.push(step);
    second.push(step);
  }
  EXPECT_TRUE(second.full());
  EXPECT_EQ(everything(first), everything(second));
}

TEST(Rollout, AllocatesAllItsMemoryAtOnce) {
  Rollout rollout(kRollout);
  EXPECT_EQ(everything(rollout).size() - sizeof(std::int64_t), Rollout::bytes_needed(kRollout));
  if (!kCountsAllocations) GTEST_SKIP();
  RandomPlay play(kShape, 2);
  const Transitions step = play.step();
  const std::int64_t before = allocations();
  rollout.begin(play.obs, play.mask);
  while (!rollout.full()) rollout.push(step);
  rollout.restart();
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace hotloop
