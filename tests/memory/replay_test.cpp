#include "memory/replay.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/replay.hpp"

namespace hotloop {
namespace {

// Random play through both memories; every draw must be the same transition, whole. Episode ends
// are dense and the ring wraps several times, so that ends meet the head and each other in every
// way.
void compare_with_twin(const ReplayShape& shape, int steps, std::uint32_t lane) {
  Rng rng(3, Purpose::test, lane, 0);
  Replay fast(shape, 4 * 8);
  reference::Replay slow(shape);
  const int n = shape.lanes, d = shape.obs, a = shape.actions;
  std::vector<float> obs(n * d), final_obs(n * d), rewards(n);
  std::vector<std::uint8_t> mask(shape.masks ? n * a : 0), final_mask(mask.size()), terminated(n),
      truncated(n);
  std::vector<std::int32_t> actions(n), length(n);
  float next_value = 1;
  const auto fill = [&](auto& values) {
    for (auto& v : values) v = next_value++;
  };
  const auto fill_mask = [&](auto& values) {
    for (auto& v : values) v = static_cast<std::uint8_t>(rng.below(2));
  };
  fill(obs);
  fill_mask(mask);
  fast.begin(obs, mask);
  slow.begin(obs);
  for (int t = 0; t < steps; ++t) {
    fill(obs);
    fill(final_obs);
    fill(rewards);
    fill_mask(mask);
    fill_mask(final_mask);
    for (int i = 0; i < n; ++i) {
      actions[i] = static_cast<std::int32_t>(rng.below(a));
      ++length[i];
      truncated[i] = shape.max_steps > 0 && length[i] == shape.max_steps;
      terminated[i] = truncated[i] == 0 && rng.below(6) == 0;
      if ((terminated[i] | truncated[i]) != 0) length[i] = 0;
    }
    const Transitions step{actions, rewards, terminated, truncated,
                           obs,     mask,    final_obs,  final_mask};
    fast.push(step);
    slow.push(step);
    ASSERT_EQ(fast.size(), static_cast<std::int64_t>(slow.size()));

    fast.sample(4, 8, 9, t);
    for (int k = 0; k < 4; ++k) {
      Rng draws(9, Purpose::replay, 0, t + k);
      const Batch batch = fast.batch(k);
      for (int i = 0; i < batch.size; ++i) {
        const reference::Transition& expected = slow.draw(draws);
        ASSERT_EQ(std::vector<float>(batch.obs + i * d, batch.obs + (i + 1) * d), expected.obs)
            << "step " << t;
        ASSERT_EQ(batch.actions[i], expected.action);
        ASSERT_EQ(batch.rewards[i], expected.reward);
        ASSERT_EQ(batch.continues[i], expected.terminated ? 0.0f : 1.0f);
        if (expected.terminated) continue;  // s' has no value there, and is not read
        ASSERT_EQ(std::vector<float>(batch.next_obs + i * d, batch.next_obs + (i + 1) * d),
                  expected.next_obs)
            << "step " << t;
        if (shape.masks) {
          ASSERT_EQ(
              std::vector<std::uint8_t>(batch.next_mask + i * a, batch.next_mask + (i + 1) * a),
              expected.next_mask);
        }
      }
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

TEST(Replay, BytesAreWhatTheArraysTake) {
  const ReplayShape shape{
      .lanes = 8, .obs = 4, .actions = 2, .max_steps = 500, .capacity = 100'000};
  // s; a, r and end in a word; s' is free
  EXPECT_NEAR(Replay::bytes_per_transition(shape), 4 * 4 + 8, 0.1);
  Replay replay(shape, 0);
  std::size_t bytes = 0;
  replay.visit([&](std::string_view, auto array) { bytes += array.size_bytes(); });
  EXPECT_EQ(bytes, Replay::bytes_needed(shape, 0));
}

}  // namespace
}  // namespace hotloop
