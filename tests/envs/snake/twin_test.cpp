// The array against its slow twin, to the bit: rewards, ends, observations and measures.
#include <gtest/gtest.h>

#include <string>

#include "reference/snake.hpp"
#include "tests/envs/snake/boards.hpp"

namespace hotloop {
namespace {

constexpr int kRows = 19;  // not a multiple of the boards in a register

// Plays mostly towards the food, so that snakes grow, and sometimes at random.
int choose(const reference::Snake& twin, Rng& rng) {
  const int actions = twin.rules.absolute ? 4 : 3;
  const auto any = static_cast<int>(rng.below(actions));
  if (rng.below(8) == 0) return any;
  int best = any;
  int best_distance = 1 << 20;
  for (int action = 0; action < actions; ++action) {
    const Cell next = reference::Snake::neighbour(twin.body.front(), twin.turned(action));
    if (twin.kills(next)) continue;
    const int distance = reference::Snake::distance(next, twin.food);
    if (distance < best_distance) {
      best = action;
      best_distance = distance;
    }
  }
  return best;
}

void expect_row(std::span<const float> obs, const SnakeArray& array, int row,
                const reference::Snake& twin, const std::string& where) {
  const std::vector<float> expected = twin.observe();
  ASSERT_EQ(static_cast<int>(expected.size()), array.spec().obs) << where;
  for (int i = 0; i < array.spec().obs; ++i) {
    ASSERT_EQ(obs[static_cast<std::size_t>(row) * array.spec().obs + i], expected[i])
        << where << ", value " << i;
  }
  std::array<float, kMaxMeasures> measures{};
  array.measure(row, measures);
  const std::vector<float> found = twin.measure();
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(measures[i], found[i]) << where;
}

// `vector_steps` steps of all rows in one call; each row's episodes end independently.
void follow(const EnvOptions& options, int vector_steps, bool random_only = false) {
  std::string name;
  for (const auto& [key, word] : options) name += key + "=" + word + " ";
  const SnakeRules rules = snake_rules_of(options);
  SnakeArray array(kRows, rules);
  std::vector<reference::Snake> twins(kRows, reference::Snake(rules));
  const auto reset = [&](int row, std::uint64_t step) {
    Rng fast(3, Purpose::test, row, 0 - step), slow(3, Purpose::test, row, 0 - step);
    array.reset(row, fast);
    twins[row].reset(slow);
  };
  for (int row = 0; row < kRows; ++row) reset(row, 0);
  std::vector<std::int32_t> actions(kRows);
  std::vector<float> rewards(kRows), obs(static_cast<std::size_t>(kRows) * array.spec().obs);
  std::vector<std::uint8_t> terminated(kRows);
  for (int t = 1; t <= vector_steps; ++t) {
    for (int row = 0; row < kRows; ++row) {
      Rng rng(4, Purpose::exploration, row, t);
      actions[row] =
          random_only ? static_cast<int>(rng.below(array.spec().actions)) : choose(twins[row], rng);
    }
    array.step(0, kRows, actions, 3, Purpose::test, t, rewards, terminated);
    const int split = t % kRows;  // rows in two calls, so that registers are partly filled
    array.observe(0, split, obs);
    array.observe(split, kRows, obs);
    for (int row = 0; row < kRows; ++row) {
      const std::string where = name + "row " + std::to_string(row) + ", step " + std::to_string(t);
      Rng rng(3, Purpose::test, row, t);
      const Step step = twins[row].step(actions[row], rng);
      ASSERT_EQ(rewards[row], step.reward) << where;
      ASSERT_EQ(terminated[row] != 0, step.terminated) << where;
      ASSERT_NO_FATAL_FAILURE(expect_row(obs, array, row, twins[row], where));
      if (step.terminated || twins[row].steps == rules.max_steps) reset(row, t);
    }
  }
}

TEST(SnakeTwin, EveryObservationActionAndRule) {
  for (const char* grid : {"4", "7", "8", "10"}) {
    for (const char* obs : {"basic", "flood", "selective", "enhanced", "grid", "lookahead"}) {
      for (const char* actions : {"relative", "absolute"}) {
        for (const char* faithful : {"false", "true"}) {
          ASSERT_NO_FATAL_FAILURE(follow({{"grid", grid},
                                          {"obs", obs},
                                          {"actions", actions},
                                          {"faithful", faithful},
                                          {"max_steps", "170"}},
                                         400));
        }
      }
    }
  }
}

TEST(SnakeTwin, LargeBoards) {
  for (const char* grid : {"15", "20", "32"}) {
    for (const char* faithful : {"false", "true"}) {
      for (const char* obs : {"enhanced", "lookahead"}) {
        ASSERT_NO_FATAL_FAILURE(
            follow({{"grid", grid}, {"obs", obs}, {"faithful", faithful}}, 400));
      }
    }
  }
}

TEST(SnakeTwin, EachQuirkAlone) {
  for (const char* quirk : {"food_under_head", "lethal_tail", "post_turn_trap", "timeout_ends"}) {
    for (const auto& [faithful, word] : {std::pair{"false", "true"}, std::pair{"true", "false"}}) {
      for (const char* grid : {"4", "6"}) {
        ASSERT_NO_FATAL_FAILURE(follow({{"grid", grid},
                                        {"obs", "enhanced"},
                                        {"faithful", faithful},
                                        {quirk, word},
                                        {"max_steps", "90"}},
                                       1500));
      }
    }
  }
  for (const char* obs : {"selective", "enhanced"}) {
    ASSERT_NO_FATAL_FAILURE(follow({{"obs", obs}, {"zero_flood", "true"}, {"grid", "5"}}, 500));
  }
}

TEST(SnakeTwin, SoftEntrapment) {
  for (const char* obs : {"basic", "flood", "selective", "enhanced"}) {
    for (const char* flag : {"false", "true"}) {
      for (const char* faithful : {"false", "true"}) {
        ASSERT_NO_FATAL_FAILURE(follow({{"grid", "6"},
                                        {"obs", obs},
                                        {"faithful", faithful},
                                        {"soft_entrapment", "true"},
                                        {"soft_threshold", "0.6"},
                                        {"entrapped_flag", flag}},
                                       500));
      }
    }
  }
  ASSERT_NO_FATAL_FAILURE(
      follow({{"obs", "grid"}, {"grid", "6"}, {"soft_entrapment", "true"}}, 500));
}

TEST(SnakeTwin, OtherRewards) {
  ASSERT_NO_FATAL_FAILURE(follow({{"grid", "7"},
                                  {"food_reward", "3.7"},
                                  {"death_reward", "-1.3"},
                                  {"step_reward", "0.013"},
                                  {"shaping", "0.77"},
                                  {"timeout_reward", "-0.1"},
                                  {"max_steps", "40"}},
                                 500));
  ASSERT_NO_FATAL_FAILURE(follow({{"grid", "9"}, {"shaping", "0"}}, 500, true));
}

}  // namespace
}  // namespace hotloop
