#include "memory/replay.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "reference/replay.hpp"
#include "tests/allocations.hpp"
#include "tests/memory/expect_row.hpp"
#include "tests/memory/random_play.hpp"

namespace hotloop {
namespace {

// Random play through both memories; every draw must be the same transition in every field. Episode
// ends are dense and the ring wraps several times, so that ends meet the head and each other in all
// combinations.
void compare_with_twin(const ReplayShape& shape, int steps, std::uint32_t lane) {
  RandomPlay play(shape, lane);
  Replay fast(shape, 4 * 8);
  reference::Replay slow(shape);
  fast.begin(play.obs, play.mask);
  slow.begin(play.obs, play.mask);
  for (int t = 0; t < steps; ++t) {
    const Transitions step = play.step();
    fast.push(step);
    slow.push(step);
    ASSERT_EQ(fast.size(), static_cast<std::int64_t>(slow.size()));
    std::int64_t terminals = 0;
    for (std::size_t i = 0; i < slow.size(); ++i) terminals += slow[i].terminated ? 1 : 0;
    ASSERT_EQ(fast.terminals(), terminals);

    fast.sample(4, 8, 9, t);
    const int newest = shape.newest ? std::min(8, shape.lanes) : 0;
    for (int k = 0; k < 4; ++k) {
      SCOPED_TRACE(testing::Message() << "step " << t << ", batch " << k);
      Rng draws(9, Purpose::replay, 0, t + k);
      const Batch batch = fast.batch(k);
      ASSERT_EQ(batch.weights, nullptr);
      for (int i = 0; i < 8 - newest; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_row(batch, i, shape, slow.draw(draws)));
      for (int i = 0; i < newest; ++i)
        ASSERT_NO_FATAL_FAILURE(
            expect_row(batch, 8 - newest + i, shape, slow.window(slow.size() - shape.lanes + i)));
    }
  }
}

TEST(Replay, EqualsItsSlowTwin) {
  std::uint32_t lane = 0;
  for (int lanes : {1, 3, 8}) {
    for (int max_steps : {0, 1, 2, 5, 9}) {
      for (bool masks : {false, true}) {
        compare_with_twin({.lanes = lanes,
                           .obs = 3,
                           .actions = 4,
                           .masks = masks,
                           .max_steps = max_steps,
                           .capacity = lanes * 13 + lanes - 1},
                          120, lane++);
      }
    }
  }
}

TEST(Replay, WindowsOfSeveralStepsEqualTheSlowTwin) {
  std::uint32_t lane = 100;
  for (int lanes : {1, 3, 11}) {
    for (int max_steps : {0, 1, 2, 5, 9}) {
      for (int steps : {2, 3, 10, 40}) {  // up to more than the ring holds
        compare_with_twin({.lanes = lanes,
                           .obs = 5,
                           .actions = 4,
                           .masks = lane % 2 == 0,
                           .max_steps = max_steps,
                           .capacity = lanes * 13,
                           .steps = steps,
                           .gamma = 0.9,
                           .newest = lane % 3 == 0},
                          80, lane);
        ++lane;
      }
    }
  }
}

// Random shapes: actions of 1 to 64 floats, windows of 1 to 6 steps, rings that wrap several times.
TEST(Replay, ContinuousActionsEqualTheSlowTwin) {
  Rng rng(5, Purpose::test, 0, 0);
  for (std::uint32_t round = 0; round < 40; ++round) {
    const auto lanes = static_cast<int>(1 + rng.below(9));
    const ReplayShape shape{.lanes = lanes,
                            .obs = static_cast<int>(1 + rng.below(7)),
                            .action_size = round < 4 ? std::array{1, 4, 63, 64}[round]
                                                     : static_cast<int>(1 + rng.below(64)),
                            .max_steps = static_cast<int>(rng.below(7)),
                            .capacity = lanes * static_cast<std::int64_t>(5 + rng.below(12)),
                            .steps = static_cast<int>(1 + rng.below(6)),
                            .gamma = 0.9,
                            .newest = rng.below(3) == 0};
    SCOPED_TRACE(testing::Message() << "actions of " << shape.action_size << " floats");
    ASSERT_NO_FATAL_FAILURE(compare_with_twin(shape, 60, 300 + round));
  }
}

TEST(Replay, TheNewestStepIsInEveryBatch) {
  for (int lanes : {1, 3, 8, 11})  // the last has more lanes than a batch has rows
    compare_with_twin(
        {.lanes = lanes, .obs = 2, .actions = 3, .capacity = lanes * 7, .newest = true}, 40, lanes);
}

// Check 2 of SLM-Lab's specification: rewards 1, 0, 2, gamma 0.9. Observations are 10, 11, 12, ...;
// the final observation is 99.
struct WorkedWindow {
  enum Ending { kNone, kTerminated, kTruncated };
  Replay replay{{.lanes = 1,
                 .obs = 1,
                 .actions = 1,
                 .max_steps = 2,
                 .capacity = 10,
                 .steps = 3,
                 .gamma = 0.9},
                1};
  explicit WorkedWindow(std::vector<Ending> endings) {
    const std::vector<std::int32_t> action = {0};
    const std::vector<float> final_obs = {99};
    std::vector<float> obs = {10};
    replay.begin(obs, {});
    for (std::size_t t = 0; t < endings.size(); ++t) {
      const std::vector<float> reward = {std::vector<float>{1, 0, 2, 7, 7}[t]};
      const std::vector<std::uint8_t> terminated = {endings[t] == kTerminated};
      const std::vector<std::uint8_t> truncated = {endings[t] == kTruncated};
      ++obs[0];
      replay.push({action, reward, terminated, truncated, obs, {}, final_obs, {}});
    }
  }
  // The window of the first transition, which is drawn sooner or later.
  Batch first() {
    for (std::uint64_t stream = 0;; ++stream) {
      replay.sample(1, 1, 1, stream);
      if (replay.batch(0).obs[0] == 10) return replay.batch(0);
    }
  }
};

TEST(Replay, WorkedWindows) {
  using W = WorkedWindow;
  const auto check = [](const std::vector<W::Ending>& endings, double reward, double discount,
                        float next) {
    W window(endings);
    const Batch batch = window.first();
    EXPECT_NEAR(batch.rewards[0], reward, 1e-6);
    EXPECT_NEAR(batch.discounts[0], discount, 1e-6);
    if (discount != 0) {
      EXPECT_EQ(batch.next_obs[0], next);
    }
  };
  check({W::kNone, W::kNone, W::kNone, W::kNone}, 2.62, 0.729, 13);  // + 0.729 * 5 = 6.265
  check({W::kNone, W::kNone, W::kNone}, 2.62, 0.729, 13);            // the last one is at the head
  check({W::kNone, W::kTerminated, W::kNone}, 1.0, 0, 0);
  check({W::kNone, W::kTruncated, W::kNone}, 1.0, 0.81, 99);  // + 0.81 * 4 = 4.24
  check({W::kNone, W::kNone, W::kTerminated}, 2.62, 0, 0);
  check({W::kNone, W::kNone}, 1.0, 0.81, 12);  // cut at the head
  check({W::kNone}, 1.0, 0.9, 11);
}

TEST(Replay, DrawsAreUniform) {
  const ReplayShape shape{.lanes = 2, .obs = 1, .actions = 2, .max_steps = 0, .capacity = 20};
  Replay replay(shape, 100'000);
  std::vector<float> obs = {0, 1}, rewards(2);
  const std::vector<std::int32_t> actions(2);
  const std::vector<std::uint8_t> no(2);
  replay.begin(obs, {});
  for (int t = 0; t < 37; ++t) {  // wrapped, and not at a round number
    rewards = {static_cast<float>(2 * t), static_cast<float>(2 * t + 1)};
    replay.push({actions, rewards, no, no, obs, {}, obs, {}});
  }
  replay.sample(1, 100'000, 1, 0);
  std::vector<int> count(74);
  for (int i = 0; i < 100'000; ++i) ++count[static_cast<int>(replay.batch(0).rewards[i])];
  for (int r = 0; r < 54; ++r)
    EXPECT_EQ(count[r], 0) << "overwritten transition " << r << " was drawn";
  for (int r = 54; r < 74; ++r)
    EXPECT_NEAR(count[r], 5000, 5 * 70) << r;  // five standard deviations
}

TEST(Replay, BytesEqualTheArrays) {
  ReplayShape shape{.lanes = 8, .obs = 4, .actions = 2, .max_steps = 500, .capacity = 100'000};
  // s; one word for a, r and end; s' needs no memory
  EXPECT_NEAR(Replay::bytes_per_transition(shape), 4 * 4 + 8, 0.1);
  shape.prioritised = true;  // a float, and part of the sums
  EXPECT_NEAR(Replay::bytes_per_transition(shape), 4 * 4 + 8 + 4 + 1 + 1 / 8.0, 0.1);
  shape.actions = 0;
  shape.action_size = 6;
  shape.prioritised = false;
  EXPECT_NEAR(Replay::bytes_per_transition(shape), 4 * 4 + 8 + 6 * 4, 0.1);
  shape.capacity = 1000;
  for (const bool continuous : {false, true}) {
    shape.actions = continuous ? 0 : 2;
    shape.action_size = continuous ? 6 : 0;
    shape.prioritised = !continuous;
    RandomPlay play(shape, 0);
    Replay replay(shape, 0);
    replay.begin(play.obs, play.mask);
    for (int t = 0; t < 1000 / 8; ++t) replay.push(play.step());
    std::size_t bytes = 0;
    replay.visit([&](std::string_view, auto array, const Limits&) {
      if (array.size() > 1) bytes += array.size_bytes();  // single numbers are part of the object
    });
    if (!continuous) {  // leaves are visited, sums are computed from them
      bytes += PriorityTree::bytes_needed(1008) - 1008 * sizeof(float);
    }
    EXPECT_EQ(bytes, Replay::bytes_needed(shape, 0));
  }
}

TEST(Replay, AllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  for (const bool prioritised : {false, true}) {
    const ReplayShape shape{.lanes = 4,
                            .obs = 3,
                            .actions = prioritised ? 2 : 0,
                            .action_size = prioritised ? 0 : 3,
                            .masks = prioritised,
                            .max_steps = 5,
                            .capacity = 40,
                            .steps = 3,
                            .newest = true,
                            .prioritised = prioritised};
    RandomPlay play(shape, 7);
    Replay replay(shape, 16);
    const std::vector<float> errors(16, 0.5f);
    replay.begin(play.obs, play.mask);
    const std::int64_t before = allocations();
    for (int t = 0; t < 50; ++t) {
      replay.push(play.step());
      replay.sample(1, 16, 1, t);
      if (prioritised) replay.set_priorities(0, errors);
    }
    EXPECT_EQ(allocations() - before, 0);
  }
}

}  // namespace
}  // namespace hotloop
