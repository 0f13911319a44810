// `flood_fill: queue` gives the same results as `flood_fill: bits`, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/envs/snake/boards.hpp"

namespace hotloop {
namespace {

constexpr int kBoards = 11;  // not a multiple of the boards in a register

// Boards play a shortest path to the food, with some random moves. Observations, rewards and ends
// are equal in every step; after a death they are compared before the board is reset.
void expect_equal_play(EnvOptions options, int vector_steps) {
  const SnakeRules rules = snake_rules_of(options);
  options.emplace_back("flood_fill", "queue");
  SnakeArray bits(kBoards, rules), queue(kBoards, snake_rules_of(options));
  ASSERT_FALSE(bits.rules().queue_fill);
  ASSERT_TRUE(queue.rules().queue_fill);
  std::string where;
  for (const auto& [key, word] : options) where += key + "=" + word + " ";
  const auto names = bits.scripts();
  const auto astar =
      static_cast<int>(std::find(names.begin(), names.end(), "astar") - names.begin());
  const auto reset = [&](int row, std::uint64_t step) {
    for (SnakeArray* array : {&bits, &queue}) {
      Rng rng(3, Purpose::test, row, 0 - step);
      array->reset(row, rng);
    }
  };
  for (int row = 0; row < kBoards; ++row) reset(row, 0);
  const auto width = static_cast<std::size_t>(bits.spec().obs);
  std::vector<std::int32_t> actions(kBoards);
  std::vector<float> obs(kBoards * width), queue_obs(obs), rewards(kBoards), queue_rewards(kBoards);
  std::vector<std::uint8_t> ends(kBoards), queue_ends(kBoards);
  int longest = 0;
  for (int t = 1; t <= vector_steps; ++t) {
    bits.play(astar, 0, kBoards, 3, Purpose::exploration, t, actions);
    for (int row = 0; row < kBoards; ++row) {
      Rng rng(4, Purpose::exploration, row, t);
      if (rng.below(16) == 0) actions[row] = static_cast<int>(rng.below(bits.spec().actions));
    }
    bits.step(0, kBoards, actions, 3, Purpose::test, t, rewards, ends);
    queue.step(0, kBoards, actions, 3, Purpose::test, t, queue_rewards, queue_ends);
    bits.observe(0, kBoards, obs);
    const int split = t % kBoards;  // so that registers are partly filled
    queue.observe(0, split, queue_obs);
    queue.observe(split, kBoards, queue_obs);
    ASSERT_EQ(obs, queue_obs) << where << "step " << t;
    ASSERT_EQ(rewards, queue_rewards) << where << "step " << t;
    ASSERT_EQ(ends, queue_ends) << where << "step " << t;
    for (int row = 0; row < kBoards; ++row) {
      longest = std::max(longest, bits.length(row));
      if (ends[row]) reset(row, t);
    }
  }
  EXPECT_GT(longest, 8) << where;
}

TEST(SnakeQueue, SeesWhatTheBitsSee) {
  for (const char* grid : {"4", "7", "10", "15", "20", "32"}) {
    for (const char* obs : {"basic", "flood", "selective", "enhanced", "grid", "lookahead"}) {
      for (const char* faithful : {"false", "true"}) {
        ASSERT_NO_FATAL_FAILURE(
            expect_equal_play({{"grid", grid}, {"obs", obs}, {"faithful", faithful}}, 300));
      }
    }
  }
}

TEST(SnakeQueue, FindsTheSameSoftEntrapments) {
  for (const char* grid : {"5", "6", "12"}) {
    for (const char* obs : {"basic", "flood", "selective", "enhanced"}) {
      ASSERT_NO_FATAL_FAILURE(expect_equal_play({{"grid", grid},
                                                 {"obs", obs},
                                                 {"soft_entrapment", "true"},
                                                 {"soft_threshold", "0.6"},
                                                 {"entrapped_flag", "true"}},
                                                400));
    }
  }
}

}  // namespace
}  // namespace hotloop
