// Helpers for the tests of single worlds.
#pragma once

#include <gtest/gtest.h>
#include <hotloop/env.hpp>

#include <cstring>
#include <vector>

namespace hotloop {

// One step of a world of either kind.
template <class W>
Step take_step(W& world, float action) {
  Rng unused(0, Purpose::test, 0, 0);
  if constexpr (HasContinuousStep<W>) {
    return world.step(std::span<const float>(&action, 1), unused);
  } else {
    return world.step(static_cast<int>(action), unused);
  }
}

// Random ranges of a batch against single worlds, to the bit; rows outside the range do not change.
// `action()` draws an action.
template <class W, class Draw>
void expect_batch_equals_one_by_one(int vector_steps, Draw&& action) {
  const int count = 101;
  typename W::Batch batch;
  batch.resize(count);
  std::vector<W> singles(count);
  Rng rng(4, Purpose::test, 0, 1);
  for (int row = 0; row < count; ++row) {
    singles[row].reset(rng);
    batch.set(row, singles[row]);
  }
  std::vector<ActionOf<W>> actions(count);
  std::vector<float> rewards(count), obs(count * W::spec.obs), row_obs(W::spec.obs);
  std::vector<std::uint8_t> terminated(count);
  for (int t = 0; t < vector_steps; ++t) {
    const int begin = static_cast<int>(rng.below(count));
    const int end = begin + 1 + static_cast<int>(rng.below(count - begin));
    for (auto& a : actions) a = static_cast<ActionOf<W>>(action(rng));
    batch.step(begin, end, actions, rewards, terminated);
    batch.observe(0, count, obs);
    for (int row = 0; row < count; ++row) {
      if (row >= begin && row < end) {
        const Step step = take_step(singles[row], static_cast<float>(actions[row]));
        ASSERT_EQ(step.reward, rewards[row]);
        ASSERT_EQ(step.terminated, terminated[row] == 1);
      }
      const W world = batch.get(row);
      ASSERT_EQ(std::memcmp(&world, &singles[row], sizeof(W)), 0) << "row " << row << ", " << t;
      singles[row].observe(row_obs);
      for (int i = 0; i < W::spec.obs; ++i) ASSERT_EQ(obs[row * W::spec.obs + i], row_obs[i]);
      if (terminated[row] && row >= begin && row < end) {
        singles[row].reset(rng);
        batch.set(row, singles[row]);
      }
    }
  }
}

}  // namespace hotloop
