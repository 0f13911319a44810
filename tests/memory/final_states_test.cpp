#include "memory/final_states.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hotloop {
namespace {

// A rollout of one observation and two actions. `ended` lists the places that were truncated. The
// final observation of place p is 100 + p, and its mask allows action p mod 2.
Rollout rollout_with(const RolloutShape& shape, const std::vector<std::size_t>& ended) {
  Rollout rollout(shape);
  const std::size_t lanes = shape.lanes;
  const std::vector<float> obs(lanes), rewards(lanes);
  const std::vector<std::int32_t> actions(lanes);
  const std::vector<std::uint8_t> mask(2 * lanes, 1), no(lanes);
  rollout.begin(obs, mask);
  for (int t = 0; t < shape.steps; ++t) {
    std::vector<std::uint8_t> truncated(lanes), final_mask(2 * lanes);
    std::vector<float> final_obs(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t place = t * lanes + lane;
      truncated[lane] = std::count(ended.begin(), ended.end(), place) > 0;
      final_obs[lane] = 100.0f + static_cast<float>(place);
      final_mask[2 * lane + place % 2] = 1;
    }
    rollout.push({.actions = actions,
                  .rewards = rewards,
                  .terminated = no,
                  .truncated = truncated,
                  .next_obs = obs,
                  .next_mask = mask,
                  .final_obs = final_obs,
                  .final_mask = final_mask});
  }
  return rollout;
}

TEST(FinalStates, EachComesOnceAndOnlyTheLastBatchIsNotFull) {
  const RolloutShape shape{.steps = 50, .lanes = 10, .obs = 1, .actions = 2, .masks = true};
  for (const std::size_t count : {0u, 1u, 127u, 128u, 129u, 256u, 500u}) {
    std::vector<std::size_t> ended;
    for (std::size_t i = 0; i < count; ++i) ended.push_back(i * 500 / count);
    const Rollout rollout = rollout_with(shape, ended);
    FinalStates finals(shape);
    std::vector<std::size_t> seen;
    std::vector<std::size_t> sizes;
    finals.for_each_batch(rollout, [&](auto places, const float* obs, const std::uint8_t* mask) {
      sizes.push_back(places.size());
      for (std::size_t i = 0; i < places.size(); ++i) {
        seen.push_back(static_cast<std::size_t>(places[i]));
        EXPECT_EQ(obs[i], 100.0f + static_cast<float>(places[i]));
        EXPECT_EQ(mask[2 * i + places[i] % 2], 1);
        EXPECT_EQ(mask[2 * i + 1 - places[i] % 2], 0);
      }
    });
    EXPECT_EQ(seen, ended);
    EXPECT_EQ(sizes.size(), (count + 127) / 128);
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) EXPECT_EQ(sizes[i], 128u);
  }
}

TEST(FinalStates, WithoutMasksThereIsNone) {
  const RolloutShape shape{.steps = 2, .lanes = 2, .obs = 1, .actions = 2};
  const Rollout rollout = rollout_with(shape, {3});
  FinalStates finals(shape);
  int batches = 0;
  finals.for_each_batch(rollout, [&](auto places, const float*, const std::uint8_t* mask) {
    ++batches;
    EXPECT_EQ(places.size(), 1u);
    EXPECT_EQ(mask, nullptr);
  });
  EXPECT_EQ(batches, 1);
}

}  // namespace
}  // namespace hotloop
