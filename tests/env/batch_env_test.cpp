#include "env/batch_env.hpp"

#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/allocations.hpp"

namespace hotloop {
namespace {

// Walks right with action 1, stays with action 0; terminates at 3, is truncated after 4 steps. Past
// the start, only action 0 is always allowed.
struct Walk {
  static constexpr EnvSpec spec{.name = "walk", .obs = 2, .actions = 2, .max_steps = 4};
  int x = 0;
  int episode = -1;
  void reset(Rng&) {
    x = 0;
    ++episode;
  }
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(x);
    obs[1] = static_cast<float>(episode);
  }
  void mask(std::span<std::uint8_t> allowed) const {
    allowed[0] = 1;
    allowed[1] = x < 3 ? 1 : 0;
  }
  Step step(int action, Rng&) {
    x += action;
    return {0.5f * static_cast<float>(x), x == 3};
  }
};

// Observes the first 24 bits drawn in the last step and the last reset, and ends at random.
struct Dice {
  static constexpr EnvSpec spec{.name = "dice", .obs = 2, .actions = 3, .max_steps = 6};
  std::uint32_t in_step = 0, in_reset = 0;
  void reset(Rng& rng) {
    in_step = 0;
    in_reset = rng.bits() >> 8;
  }
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(in_step);
    obs[1] = static_cast<float>(in_reset);
  }
  Step step(int action, Rng& rng) {
    in_step = rng.bits() >> 8;
    return {static_cast<float>(action) + static_cast<float>(rng.uniform()), rng.below(4) == 0};
  }
};

// Adds up the two floats of the action, unclipped, and observes the sum.
struct Slide {
  static constexpr EnvSpec spec{.name = "slide",
                                .obs = 2,
                                .action_size = 2,
                                .action_low = {-1, -1},
                                .action_high = {1, 1},
                                .max_steps = 3};
  float x = 0, y = 0;
  void reset(Rng&) { x = y = 0; }
  void observe(std::span<float> obs) const {
    obs[0] = x;
    obs[1] = y;
  }
  Step step(std::span<const float> action, Rng&) {
    x += action[0];
    y += action[1];
    return {x - y, x >= 4};
  }
};

template <class W>
BatchEnv make_env(int count, std::uint64_t seed = 1, Purpose purpose = Purpose::world) {
  return BatchEnv(env_entry<W>().make(count), count, seed, purpose);
}

std::vector<std::int32_t> some_actions(int count, std::uint64_t t) {
  std::vector<std::int32_t> actions(count);
  for (int row = 0; row < count; ++row) actions[row] = static_cast<int>((row * 7 + t * 5) % 3);
  return actions;
}

// All results of a step, as bytes; final rows only where an episode ended.
std::string shown(const BatchEnv& env) {
  std::string bytes;
  const auto add = [&bytes](auto span) {
    bytes.append(reinterpret_cast<const char*>(span.data()), span.size_bytes());
  };
  add(env.obs());
  add(env.rewards());
  add(env.terminated());
  add(env.truncated());
  add(env.finished());
  for (int row = 0; row < env.count(); ++row) {
    if (env.terminated()[row] || env.truncated()[row]) {
      add(env.final_obs().subspan(static_cast<std::size_t>(row) * env.spec().obs, env.spec().obs));
    }
  }
  return bytes;
}

TEST(BatchEnv, FirstObservation) {
  const BatchEnv env = make_env<Walk>(3);
  EXPECT_EQ(env.steps(), 0u);
  EXPECT_EQ(env.obs()[0], 0.0f);
  EXPECT_EQ(env.obs()[1], 0.0f);
  EXPECT_EQ(env.mask()[5], 1);
  EXPECT_TRUE(env.finished().empty());
}

// Row 0 walks and terminates at step 3; row 1 stays and is truncated at step 4; row 2 waits once
// and reaches the end at step 4, exactly when its time is up: that is a termination.
TEST(BatchEnv, EndsAndBeginsEpisodes) {
  BatchEnv env = make_env<Walk>(3);
  ThreadTeam team(1);
  env.step(std::vector<std::int32_t>{1, 0, 0}, team);
  env.step(std::vector<std::int32_t>{1, 0, 1}, team);
  EXPECT_EQ(env.terminated()[0], 0);
  EXPECT_EQ(env.rewards()[0], 1.0f);
  EXPECT_TRUE(env.finished().empty());

  env.step(std::vector<std::int32_t>{1, 0, 1}, team);
  EXPECT_EQ(env.terminated()[0], 1);
  EXPECT_EQ(env.truncated()[0], 0);
  EXPECT_EQ(env.obs()[0], 0.0f);        // already the next episode …
  EXPECT_EQ(env.obs()[1], 1.0f);        // … the second one
  EXPECT_EQ(env.mask()[1], 1);          // with its own mask
  EXPECT_EQ(env.final_obs()[0], 3.0f);  // the last one of the old episode
  EXPECT_EQ(env.final_obs()[1], 0.0f);
  EXPECT_EQ(env.final_mask()[0], 1);
  EXPECT_EQ(env.final_mask()[1], 0);
  ASSERT_EQ(env.finished().size(), 1u);
  EXPECT_EQ(env.finished()[0].total_return, 0.5 + 1.0 + 1.5);
  EXPECT_EQ(env.finished()[0].length, 3);

  env.step(std::vector<std::int32_t>{1, 0, 1}, team);
  EXPECT_EQ(env.terminated()[0], 0);
  EXPECT_EQ(env.terminated()[1], 0);
  EXPECT_EQ(env.truncated()[1], 1);
  EXPECT_EQ(env.terminated()[2], 1);
  EXPECT_EQ(env.truncated()[2], 0);
  EXPECT_EQ(env.final_obs()[2], 0.0f);
  EXPECT_EQ(env.final_obs()[4], 3.0f);
  ASSERT_EQ(env.finished().size(), 2u);  // rows 1 and 2, in this order
  EXPECT_EQ(env.finished()[0].total_return, 0.0);
  EXPECT_EQ(env.finished()[0].length, 4);
  EXPECT_EQ(env.finished()[1].total_return, 3.0);
  EXPECT_EQ(env.finished()[1].length, 4);

  env.step(std::vector<std::int32_t>{1, 1, 1}, team);
  EXPECT_TRUE(env.finished().empty());
  EXPECT_EQ(env.truncated()[1], 0);
  EXPECT_EQ(env.obs()[2], 1.0f);
}

// Row 0 stays inside its bounds and is truncated. Row 1 gets actions far beyond them, which the
// world must handle, and terminates.
TEST(BatchEnv, ContinuousActionsReachTheirRowsUnclipped) {
  BatchEnv env = make_env<Slide>(2);
  ThreadTeam team(1);
  env.step(std::vector<float>{0.5f, -1, 3, 0.25f}, team);
  EXPECT_EQ(std::vector(env.obs().begin(), env.obs().end()),
            (std::vector<float>{0.5f, -1, 3, 0.25f}));
  EXPECT_EQ(env.rewards()[0], 1.5f);
  EXPECT_EQ(env.rewards()[1], 2.75f);
  env.step(std::vector<float>{0.5f, 0, 2, 0}, team);
  EXPECT_EQ(env.terminated()[0], 0);
  EXPECT_EQ(env.terminated()[1], 1);
  EXPECT_EQ(env.final_obs()[2], 5.0f);
  EXPECT_EQ(env.obs()[2], 0.0f);
  env.step(std::vector<float>{0, 0, 1, 1}, team);
  EXPECT_EQ(env.truncated()[0], 1);
  EXPECT_EQ(env.truncated()[1], 0);
  ASSERT_EQ(env.finished().size(), 1u);
  EXPECT_EQ(env.finished()[0].total_return, 1.5 + 2 + 2);
}

// The streams that the header documents: t for a step, -t for the reset after it, 0 for the first.
TEST(BatchEnv, DrawsFromTheDeclaredStreams) {
  const std::uint64_t seed = 77;
  const int count = 5;
  BatchEnv env = make_env<Dice>(count, seed, Purpose::evaluation_world);
  ThreadTeam team(1);
  const auto first_draw = [&](int row, std::uint64_t step) {
    Rng rng(seed, Purpose::evaluation_world, static_cast<std::uint32_t>(row), step);
    return static_cast<float>(rng.bits() >> 8);
  };
  for (int row = 0; row < count; ++row) EXPECT_EQ(env.obs()[2 * row + 1], first_draw(row, 0));
  int ended = 0;
  for (std::uint64_t t = 1; t <= 20; ++t) {
    env.step(some_actions(count, t), team);
    for (int row = 0; row < count; ++row) {
      if (env.terminated()[row] || env.truncated()[row]) {
        ++ended;
        EXPECT_EQ(env.final_obs()[2 * row], first_draw(row, t));
        EXPECT_EQ(env.obs()[2 * row + 1], first_draw(row, 0 - t));
      } else {
        EXPECT_EQ(env.obs()[2 * row], first_draw(row, t));
      }
    }
  }
  EXPECT_GT(ended, 10);
}

// Sizes around the scan's eight rows and the block of 256, and more threads than rows.
TEST(BatchEnv, ThreadsDoNotChangeResults) {
  for (const int count : {1, 3, 8, 300, 1000}) {
    BatchEnv single = make_env<Dice>(count);
    ThreadTeam one(1);
    for (const int threads : {2, 4}) {
      single.reset();
      BatchEnv shared = make_env<Dice>(count);
      ThreadTeam team(threads);
      for (std::uint64_t t = 0; t < 30; ++t) {
        const auto actions = some_actions(count, t);
        single.step(actions, one);
        shared.step(actions, team);
        ASSERT_EQ(shown(single), shown(shared))
            << count << " rows, " << threads << " threads, step " << t + 1;
      }
    }
  }
}

TEST(BatchEnv, ResetStartsFromScratch) {
  BatchEnv env = make_env<Walk>(4);  // the episode number would show leftovers
  const std::string first = shown(env);
  ThreadTeam team(1);
  for (int t = 0; t < 9; ++t) env.step(std::vector<std::int32_t>(4, 1), team);
  EXPECT_NE(shown(env), first);
  env.reset();
  EXPECT_EQ(shown(env), first);
  EXPECT_EQ(env.steps(), 0u);
}

TEST(BatchEnv, RestoredContinuesToTheBit) {
  const int count = 33;
  ThreadTeam team(1);
  BatchEnv straight = make_env<Dice>(count, 5);
  for (std::uint64_t t = 0; t < 10; ++t) straight.step(some_actions(count, t), team);
  const std::vector<std::byte> state = straight.save();

  BatchEnv resumed = make_env<Dice>(count, 5);
  for (std::uint64_t t = 0; t < 3; ++t) resumed.step(some_actions(count, t), team);
  resumed.restore(state);
  EXPECT_EQ(resumed.steps(), 10u);
  EXPECT_EQ(std::vector(resumed.obs().begin(), resumed.obs().end()),
            std::vector(straight.obs().begin(), straight.obs().end()));
  std::size_t episodes = 0;
  for (std::uint64_t t = 10; t < 30; ++t) {
    straight.step(some_actions(count, t), team);
    resumed.step(some_actions(count, t), team);
    ASSERT_EQ(shown(straight), shown(resumed)) << "step " << t + 1;
    episodes += straight.finished().size();
  }
  EXPECT_GT(episodes, 0u);
  EXPECT_EQ(straight.save(), resumed.save());
  EXPECT_NE(straight.save(), state);
}

// Between a byte and an int are three bytes of padding, which must not reach a checkpoint.
struct Gap {
  static constexpr EnvSpec spec{.name = "gap", .obs = 1, .actions = 1};
  std::uint8_t small = 1;
  std::int32_t large = 2;
  void reset(Rng&) { std::memset(reinterpret_cast<unsigned char*>(this) + 1, 0xEE, 3); }
  void observe(std::span<float> obs) const { obs[0] = static_cast<float>(large); }
  Step step(int, Rng&) { return {}; }
};

TEST(BatchEnv, SavedBytesHoldNoPadding) {
  const BatchEnv env = make_env<Gap>(1);
  const std::vector<std::byte> state = env.save();
  const std::byte* world = state.data() + state.size() - sizeof(Gap);
  EXPECT_EQ(world[0], std::byte{1});
  for (int i = 1; i < 4; ++i) EXPECT_EQ(world[i], std::byte{0});
}

TEST(BatchEnv, StateOfAnotherSizeIsRefused) {
  BatchEnv env = make_env<Dice>(4);
  std::vector<std::byte> state = env.save();
  state.push_back({});
  EXPECT_THROW(env.restore(state), RunError);
}

TEST(BatchEnv, StepsWithoutAllocating) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer replaces malloc";
  const int count = 100;
  BatchEnv env = make_env<Dice>(count);
  const auto actions = some_actions(count, 0);
  ThreadTeam team(2);
  env.step(actions, team);
  std::size_t episodes = 0;
  const std::int64_t before = allocations();
  for (int t = 0; t < 100; ++t) {
    env.step(actions, team);
    episodes += env.finished().size();
  }
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_GT(episodes, 0u);
}

#ifndef NDEBUG
TEST(BatchEnvDeathTest, IllegalActionsAreCaughtInDebugBuilds) {
  BatchEnv env = make_env<Walk>(2);
  ThreadTeam team(1);
  EXPECT_DEATH(env.step(std::vector<std::int32_t>{0, 2}, team), "actions_are_legal");
  EXPECT_DEATH(env.step(std::vector<std::int32_t>{-1, 0}, team), "actions_are_legal");
  EXPECT_DEATH(env.step(std::vector<std::int32_t>{0}, team), "actions_are_legal");
  EXPECT_DEATH(env.step(std::vector<float>{0, 0}, team), "actions_are_legal");  // the other kind
}

TEST(BatchEnvDeathTest, IllegalContinuousActionsAreCaughtInDebugBuilds) {
  BatchEnv env = make_env<Slide>(2);
  ThreadTeam team(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_DEATH(env.step(std::vector<float>{0, 0, nan, 0}, team), "actions_are_legal");
  EXPECT_DEATH(env.step(std::vector<float>{0, -infinity, 0, 0}, team), "actions_are_legal");
  EXPECT_DEATH(env.step(std::vector<float>{0, 0}, team), "actions_are_legal");
  EXPECT_DEATH(env.step(std::vector<std::int32_t>{0, 0}, team), "actions_are_legal");
}
#endif

}  // namespace
}  // namespace hotloop
