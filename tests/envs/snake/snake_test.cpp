// Worked boards. Where a test says so, the numbers were reproduced with the original environment.
#include "envs/snake/snake.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>

#include <cmath>
#include <string>

#include "tests/envs/snake/boards.hpp"

namespace hotloop {
namespace {

EnvOptions faithful(EnvOptions more = {}) {
  more.emplace_back("faithful", "true");
  return more;
}

void expect_observation(const OneSnake& snake, const std::vector<double>& expected) {
  const std::vector<float> obs = snake.observe();
  ASSERT_EQ(obs.size(), expected.size());
  for (std::size_t i = 0; i < obs.size(); ++i) EXPECT_NEAR(obs[i], expected[i], 1e-6) << i;
}

const std::vector<Cell> kStart = {{5, 5}, {4, 5}, {3, 5}};
// A snake across the board, heading up: 18 cells to its right, 12 to its left.
const std::vector<Cell> kWall = {{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}};

// Checked against the original.
TEST(Snake, StartVector) {
  const std::vector<double> basic = {0, 0, 0, 1, 1, 0, 0, 0, 1, 0};
  std::vector<double> flood = basic;
  flood.insert(flood.end(), {1, 1, 1});
  std::vector<double> selective = flood;
  selective.insert(selective.end(), {0, 0, 0, 1, 1});
  std::vector<double> enhanced = flood;
  enhanced.insert(enhanced.end(), {.75, .75, .75, 0, 0, 0, 1, 1, 2.0 / 18, 0.03});
  for (const bool quirks : {false, true}) {
    const auto check = [&](const std::string& obs, const std::vector<double>& expected) {
      OneSnake snake(EnvOptions{{"faithful", quirks ? "true" : "false"}, {"obs", obs}});
      snake.place(kStart, 1, {7, 3});
      expect_observation(snake, expected);
    };
    check("basic", basic);
    check("flood", flood);
    check("selective", selective);
    check("enhanced", enhanced);
  }
}

TEST(Snake, StartsInTheMiddleHeadingRight) {
  for (const int grid : {4, 7, 10}) {
    OneSnake snake(EnvOptions{{"grid", std::to_string(grid)}});
    Rng rng(1, Purpose::test, 0, 0);
    snake.array.reset(0, rng);
    const int c = grid / 2;
    EXPECT_EQ(snake.body(), (std::vector<Cell>{{c, c}, {c - 1, c}, {c - 2, c}}));
    EXPECT_EQ(snake.array.direction(0), 1);
  }
}

// Checked against the original.
TEST(Snake, WallSplitsTheBoard) {
  OneSnake snake(faithful({{"grid", "6"}, {"obs", "enhanced"}}));
  snake.place(kWall, 0, {5, 3});
  expect_observation(
      snake, {1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0.6, .4, 0, .5, .5, 0, 0, 1, 0, 1, 0.5, 0.166667});
}

// By hand. Whatever the snake across the board does, its tail opens a gap.
TEST(Snake, LookaheadSeesTheTailLeave) {
  OneSnake snake(EnvOptions{{"grid", "6"}, {"obs", "lookahead"}});
  snake.place(kWall, 0, {5, 3});
  expect_observation(snake, {1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 6.0 / 36});
}

// By hand, heading left: up is a pocket of one cell, down leads to everything else.
//   . o o o
//   H o . o
//   . . t o
//   . . . F
TEST(Snake, LookaheadDetectsAPocket) {
  OneSnake snake(EnvOptions{{"grid", "4"}, {"obs", "lookahead"}});
  snake.place({{0, 1}, {1, 1}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {2, 2}}, 3, {3, 3});
  expect_observation(snake, {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, .125, 1, 0, 0, 1, 0, 0, 1, 0.5});
  // The food below is eaten, so the tail stays and blocks the way to the cell above it.
  snake.place({{0, 1}, {1, 1}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {2, 2}}, 3, {0, 2});
  const std::vector<float> obs = snake.observe();
  EXPECT_EQ(obs[12], 6.0f / 8);
  EXPECT_EQ(obs[15], 1);
  EXPECT_EQ(obs[18], 1);
}

// As in the original with enhanced features but without flood fill.
TEST(Snake, ZeroFloodLeavesThreeColumnsEmpty) {
  OneSnake snake(faithful({{"grid", "6"}, {"obs", "enhanced"}, {"zero_flood", "true"}}));
  snake.place(kWall, 0, {5, 3});
  const std::vector<float> obs = snake.observe();
  for (const int i : {10, 11, 12}) EXPECT_EQ(obs[i], 0) << i;
  EXPECT_EQ(obs[14], 0.5f);
  EXPECT_EQ(obs[20], 1);
}

TEST(Snake, GridShowsHeadBodyAndFood) {
  OneSnake snake(EnvOptions{{"obs", "grid"}});
  snake.place(kStart, 1, {7, 3});
  const std::vector<float> obs = snake.observe();
  ASSERT_EQ(obs.size(), 300u);
  double sum = 0;
  for (const float value : obs) sum += value;
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(obs[(5 * 10 + 5) * 3 + 0], 1);
  EXPECT_EQ(obs[(5 * 10 + 4) * 3 + 1], 1);
  EXPECT_EQ(obs[(5 * 10 + 3) * 3 + 1], 1);
  EXPECT_EQ(obs[(3 * 10 + 7) * 3 + 2], 1);
}

// Checked against the original, as are the next rewards in faithful mode.
TEST(Snake, RewardsOfApproachAndFood) {
  OneSnake snake(faithful());
  snake.place(kStart, 1, {7, 5});
  const Step first = snake.step(0);
  EXPECT_NEAR(first.reward, 0.04, 1e-7);
  EXPECT_FALSE(first.terminated);
  EXPECT_EQ(snake.step(0).reward, 10);
  EXPECT_EQ(snake.body(), (std::vector<Cell>{{7, 5}, {6, 5}, {5, 5}, {4, 5}}));
  EXPECT_EQ(snake.measure("score"), 1);
}

TEST(Snake, RewardsOfLeavingAndTheWall) {
  OneSnake snake(faithful());
  snake.place(kStart, 1, {0, 0});
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(snake.step(0).reward, -0.06, 1e-7);
  const Step last = snake.step(0);
  EXPECT_EQ(last.reward, -10);
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(snake.measure("wall"), 1);
  EXPECT_EQ(snake.body().front(), (Cell{9, 5}));  // the body of a dead snake stays where it was
}

TEST(Snake, TheTailKillsOnlyInFaithfulMode) {
  for (const bool quirk : {true, false}) {
    OneSnake snake(EnvOptions{{"lethal_tail", quirk ? "true" : "false"}});
    snake.place({{5, 5}, {5, 6}, {6, 6}, {6, 5}}, 0, {0, 0});
    EXPECT_EQ(snake.observe()[2], quirk);
    const Step step = snake.step(2);
    EXPECT_EQ(step.terminated, quirk);
    EXPECT_EQ(snake.measure("self"), quirk);
    if (!quirk) {
      EXPECT_EQ(snake.body(), (std::vector<Cell>{{6, 5}, {5, 5}, {5, 6}, {6, 6}}));
    }
  }
}

// If food may appear under the head, it may end up under the tail; eating it keeps the tail.
TEST(Snake, TheTailKillsIfFoodKeepsIt) {
  OneSnake snake(EnvOptions{{"food_under_head", "true"}});
  snake.place({{5, 5}, {5, 6}, {6, 6}, {6, 5}}, 0, {6, 5});
  EXPECT_EQ(snake.observe()[2], 1);
  EXPECT_TRUE(snake.step(2).terminated);
  EXPECT_EQ(snake.measure("self"), 1);
}

TEST(Snake, TimeoutAddsToTheRewardOfADeath) {
  OneSnake snake(faithful({{"max_steps", "5"}}));
  snake.place(kStart, 1, {0, 0});
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(snake.step(0).terminated);
  EXPECT_EQ(snake.step(0).reward, -15);
  EXPECT_EQ(snake.measure("wall"), 1);
  EXPECT_EQ(snake.measure("timeout"), 0);
}

TEST(Snake, AbsoluteActionsIgnoreTheOpposite) {
  OneSnake snake(faithful({{"actions", "absolute"}}));
  snake.place(kStart, 1, {0, 0});
  snake.step(3);
  EXPECT_EQ(snake.body().front(), (Cell{6, 5}));
  snake.step(0);
  EXPECT_EQ(snake.body().front(), (Cell{6, 4}));
}

TEST(Snake, TimeoutEndsOrIsLeftToTheEngine) {
  for (const bool quirk : {true, false}) {
    OneSnake snake(EnvOptions{{"max_steps", "2"}, {"timeout_ends", quirk ? "true" : "false"}});
    EXPECT_EQ(snake.array.spec().max_steps, quirk ? 0 : 2);
    snake.place(kStart, 1, {0, 0});
    EXPECT_FALSE(snake.step(0).terminated);
    EXPECT_EQ(snake.measure("timeout"), 0);
    const Step last = snake.step(0);
    EXPECT_EQ(last.terminated, quirk);
    EXPECT_NEAR(last.reward, -0.06, 1e-7);  // no timeout_reward unless faithful
    EXPECT_EQ(snake.measure("timeout"), 1);
  }
}

// Checked against the original: the right side is free, so the honest test sees no entrapment.
TEST(Snake, CauseOfATurnIntoTheBody) {
  const std::vector<Cell> body = {{5, 0}, {5, 1}, {4, 1}, {4, 0}, {3, 0}};
  for (const bool quirks : {true, false}) {
    const auto cause = [&](int action, std::string_view name) {
      OneSnake snake(EnvOptions{{"faithful", quirks ? "true" : "false"}});
      snake.place(body, 0, {9, 9});
      const std::vector<float> obs = snake.observe();
      EXPECT_EQ(std::vector<float>(obs.begin(), obs.begin() + 3), (std::vector<float>{1, 1, 0}));
      EXPECT_TRUE(snake.step(action).terminated);
      return snake.measure(name);
    };
    EXPECT_EQ(cause(1, quirks ? "entrapment" : "self"), 1);
    EXPECT_EQ(cause(0, "wall"), 1);
  }
}

// The head is in the corner and the body blocks the way out: no action helps.
TEST(Snake, HonestEntrapment) {
  for (const int action : {0, 1, 2}) {
    OneSnake snake(EnvOptions{});
    snake.place({{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}, 3, {9, 9});
    EXPECT_TRUE(snake.step(action).terminated);
    EXPECT_EQ(snake.measure("entrapment"), 1) << action;
    EXPECT_EQ(snake.measure("wall") + snake.measure("self"), 0) << action;
  }
}

// The head is at the left wall: above it is a pocket of 2 of the 94 free cells, below the other 92.
TEST(Snake, SoftEntrapmentIsJudgedAfterTheTurn) {
  const std::vector<Cell> body = {{0, 2}, {1, 2}, {1, 1}, {1, 0}, {2, 0}, {3, 0}};
  const EnvOptions options = {
      {"soft_entrapment", "true"}, {"entrapped_flag", "true"}, {"obs", "flood"}};
  const auto reward = [&](int action, Cell food, float flag) {
    OneSnake snake(options);
    snake.place(body, 3, food);
    EXPECT_EQ(snake.observe().back(), 0);
    const Step step = snake.step(action);
    EXPECT_FALSE(step.terminated);
    EXPECT_EQ(snake.observe().back(), flag);
    return step.reward;
  };
  EXPECT_NEAR(reward(2, {9, 9}, 1), 0.02 - 0.05, 1e-7);
  EXPECT_EQ(reward(2, {0, 1}, 1), -5);
  EXPECT_NEAR(reward(1, {9, 9}, 0), -0.01 + 0.05, 1e-7);
  EXPECT_EQ(reward(1, {0, 3}, 0), 10);
}

TEST(Snake, FoodAppearsUnderTheHeadAsOftenAsInTheOriginal) {
  for (const bool quirk : {true, false}) {
    const int tries = 20000;
    int under = 0;
    OneSnake snake(EnvOptions{{"grid", "4"}, {"food_under_head", quirk ? "true" : "false"}});
    for (int i = 0; i < tries; ++i) {
      snake.place({{2, 2}, {1, 2}, {0, 2}}, 1, {3, 2});
      ASSERT_EQ(snake.step(0).reward, 10);
      under += snake.array.food(0) == Cell{3, 2};
      ASSERT_FALSE(snake.array.food(0) == (Cell{2, 2}));
    }
    const double p = quirk ? 1.0 / 13 : 0;
    EXPECT_NEAR(under, tries * p, 4 * std::sqrt(tries * p * (1 - p))) << quirk;
  }
}

TEST(Snake, FoodIsUniformOverTheFreeCells) {
  const int tries = 26000;
  std::array<int, 16> seen{};
  SnakeArray array(1, snake_rules_of({{"grid", "4"}}));
  for (int i = 0; i < tries; ++i) {
    Rng rng(7, Purpose::test, 0, i);
    array.reset(0, rng);
    const Cell food = array.food(0);
    ++seen[food.y * 4 + food.x];
  }
  for (int i = 0; i < 16; ++i) {
    const bool body = i == 10 || i == 9 || i == 8;
    EXPECT_NEAR(seen[i], body ? 0 : 2000, body ? 0 : 5 * std::sqrt(2000.0)) << i;
  }
}

// The snake eats the last free cell and wins, with the food's reward.
TEST(Snake, FillingTheBoardWins) {
  std::vector<Cell> body;  // back and forth over all cells but (0, 0), the head next to it
  for (int y = 0; y < 4; ++y) {
    for (int i = 0; i < 4; ++i) body.push_back({y % 2 == 0 ? i : 3 - i, y});
  }
  body.erase(body.begin());
  OneSnake snake(EnvOptions{{"grid", "4"}, {"obs", "enhanced"}});
  snake.place(body, 3, {0, 0});
  const Step step = snake.step(0);
  EXPECT_EQ(step.reward, 10);
  EXPECT_TRUE(step.terminated);
  EXPECT_EQ(snake.measure("won"), 1);
  for (const float value : snake.observe()) EXPECT_TRUE(std::isfinite(value));

  OneSnake original(faithful({{"grid", "4"}}));  // continues, with the food in its fixed cell
  original.place(body, 3, {0, 0});
  EXPECT_FALSE(original.step(0).terminated);
  EXPECT_EQ(original.array.food(0), (Cell{0, 0}));  // free on the board before the move
}

TEST(Snake, PictureShowsEveryCell) {
  OneSnake snake(EnvOptions{});
  snake.place(kStart, 1, {7, 3});
  const Picture picture = snake.array.picture(0);
  ASSERT_EQ(picture.width, 31);
  ASSERT_EQ(picture.rgb.size(), 31u * 31 * 3);
  const auto pixel = [&](int x, int y, int c) {
    return int{picture.rgb[((y * 3 + 1) * 31 + x * 3 + 1) * 3 + c]};
  };
  EXPECT_GT(pixel(7, 3, 0), 2 * pixel(7, 3, 1));  // red food
  EXPECT_GT(pixel(5, 5, 1), pixel(4, 5, 1));      // a bright head
  EXPECT_GT(pixel(4, 5, 1), pixel(3, 5, 1));      // fading towards the tail
  EXPECT_GT(pixel(3, 5, 1), pixel(0, 0, 1));      // on a dark ground
  EXPECT_LT(pixel(0, 0, 0), 40);
}

TEST(Snake, RefusesContradictions) {
  const auto refusal = [](const EnvOptions& options) -> std::string {
    try {
      make_worlds({"snake", options}, 1);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({{"entrapped_flag", "true"}}).find("soft_entrapment"), std::string::npos);
  EXPECT_NE(refusal({{"entrapped_flag", "true"}, {"obs", "grid"}, {"soft_entrapment", "true"}})
                .find("obs grid"),
            std::string::npos);
  EXPECT_NE(refusal({{"zero_flood", "true"}}).find("obs basic"), std::string::npos);
  EXPECT_NE(refusal({{"grid", "3"}}).find("4 to 32"), std::string::npos);
  EXPECT_EQ(refusal({{"zero_flood", "true"}, {"obs", "selective"}}), "");
}

TEST(Snake, FaithfulSetsOptionsThatAreNotGiven) {
  const SnakeRules all = snake_rules_of(faithful());
  EXPECT_TRUE(all.food_under_head && all.lethal_tail && all.post_turn_trap && all.timeout_ends);
  EXPECT_FALSE(all.zero_flood);
  EXPECT_EQ(all.timeout_reward, -5);
  const SnakeRules some =
      snake_rules_of(faithful({{"lethal_tail", "false"}, {"timeout_reward", "1"}}));
  EXPECT_TRUE(some.food_under_head && !some.lethal_tail);
  EXPECT_EQ(some.timeout_reward, 1);
  const SnakeRules none = snake_rules_of({});
  EXPECT_FALSE(none.food_under_head || none.lethal_tail || none.post_turn_trap ||
               none.timeout_ends);
  EXPECT_EQ(none.timeout_reward, 0);
}

TEST(Snake, ShapesFollowTheOptions) {
  const auto size = [](const EnvOptions& options) { return env_spec({"snake", options}).obs; };
  EXPECT_EQ(size({}), 10);
  EXPECT_EQ(size({{"obs", "flood"}}), 13);
  EXPECT_EQ(size({{"obs", "selective"}}), 18);
  EXPECT_EQ(size({{"obs", "enhanced"}}), 23);
  EXPECT_EQ(size({{"obs", "lookahead"}}), 20);
  EXPECT_EQ(size({{"obs", "enhanced"}, {"soft_entrapment", "true"}, {"entrapped_flag", "true"}}),
            24);
  const EnvSpec grid = env_spec({"snake", {{"obs", "grid"}, {"grid", "8"}}});
  EXPECT_EQ(grid.obs, 192);
  EXPECT_EQ(grid.parts[0].name, "grid");
  EXPECT_EQ(grid.parts[0].shape, (std::array<int, 3>{8, 8, 3}));
  EXPECT_EQ(env_spec({"snake", {{"actions", "absolute"}}}).actions, 4);
}

}  // namespace
}  // namespace hotloop
