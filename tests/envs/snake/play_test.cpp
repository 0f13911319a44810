// Full games: invariants of the corrected rules, scripts, the battery under many options, saving.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "env/batch_env.hpp"
#include "env/check/battery.hpp"
#include "tests/allocations.hpp"
#include "tests/envs/snake/boards.hpp"

namespace hotloop {
namespace {

int script_number(const Worlds& worlds, std::string_view name) {
  const auto names = worlds.scripts();
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

void expect_sound(const SnakeArray& array, int row) {
  const int grid = array.rules().grid;
  int free = 0;
  for (int y = 0; y < grid; ++y) {
    for (int x = 0; x < grid; ++x) free += array.is_free(row, {x, y});
  }
  ASSERT_EQ(free, grid * grid - array.length(row));
  for (int i = 0; i < array.length(row); ++i) {
    ASSERT_FALSE(array.is_free(row, array.segment(row, i)));
    if (i == 0) continue;
    const Cell a = array.segment(row, i - 1), b = array.segment(row, i);
    ASSERT_EQ(std::abs(a.x - b.x) + std::abs(a.y - b.y), 1);
  }
  std::array<float, kMaxMeasures> measures{};
  array.measure(row, measures);
  ASSERT_EQ(array.length(row), measures[0] + 3);
  const bool won = measures[5] != 0;
  ASSERT_NE(won, array.is_free(row, array.food(row)));
}

// Plays the named script, or at random, and checks the invariants after each step.
void play_soundly(const EnvOptions& options, std::string_view script, int steps) {
  const int rows = 13;
  SnakeArray array(rows, snake_rules_of(options));
  std::vector<std::int32_t> actions(rows);
  std::vector<float> rewards(rows);
  std::vector<std::uint8_t> terminated(rows);
  for (int row = 0; row < rows; ++row) {
    Rng rng(5, Purpose::test, row, 0);
    array.reset(row, rng);
  }
  for (int t = 1; t <= steps; ++t) {
    if (script == "random") {
      Rng rng(5, Purpose::exploration, 0, t);
      for (auto& action : actions) action = static_cast<int>(rng.below(array.spec().actions));
    } else {
      array.play(script_number(array, script), 0, rows, 5, Purpose::test, t, actions);
    }
    std::vector<Cell> tails(rows);
    for (int row = 0; row < rows; ++row) {
      tails[row] = array.segment(row, array.length(row) - 1);
    }
    array.step(0, rows, actions, 5, Purpose::test, t, rewards, terminated);
    for (int row = 0; row < rows; ++row) {
      ASSERT_NO_FATAL_FAILURE(expect_sound(array, row)) << script << ", step " << t;
      if (!terminated[row]) continue;
      std::array<float, kMaxMeasures> measures{};
      array.measure(row, measures);
      if (measures[5] == 0) {  // died, but never on the cell that the tail was leaving
        const Cell head = array.segment(row, 0);
        const int d = array.direction(row);
        const Cell hit = {head.x + (d == 1) - (d == 3), head.y + (d == 2) - (d == 0)};
        ASSERT_FALSE(hit == tails[row]);
      }
      Rng rng(5, Purpose::test, row, 0 - static_cast<std::uint64_t>(t));
      array.reset(row, rng);
    }
  }
}

TEST(SnakePlay, CorrectedRulesKeepTheirInvariants) {
  for (const char* grid : {"4", "5", "8", "10", "17"}) {
    for (const char* actions : {"relative", "absolute"}) {
      const EnvOptions options = {{"grid", grid}, {"actions", actions}};
      ASSERT_NO_FATAL_FAILURE(play_soundly(options, "random", 2000));
      ASSERT_NO_FATAL_FAILURE(play_soundly(options, "direct", 1000));
      ASSERT_NO_FATAL_FAILURE(play_soundly(options, "astar", 2000));
    }
  }
}

struct Totals {
  double episodes = 0, score = 0;
  std::array<double, kMaxMeasures> measures{};
};

Totals play_script(const EnvOptions& options, std::string_view script, int rows, int steps) {
  BatchEnv env(make_worlds({"snake", options}, rows), rows, 9, Purpose::test);
  ThreadTeam team(1);
  std::vector<std::int32_t> actions(rows);
  Totals totals;
  for (int t = 0; t < steps; ++t) {
    if (script == "random") {
      Rng rng(9, Purpose::exploration, 0, t);
      for (auto& action : actions) action = static_cast<int>(rng.below(env.spec().actions));
    } else {
      const int number = script_number(env.worlds(), script);
      env.worlds().play(number, 0, rows, 9, Purpose::test, t, actions);
    }
    env.step(actions, team);
    for (const Episode& episode : env.finished()) {
      totals.episodes += 1;
      for (int i = 0; i < kMaxMeasures; ++i) totals.measures[i] += episode.measures[i];
    }
  }
  totals.score = totals.measures[0] / totals.episodes;
  return totals;
}

TEST(SnakePlay, TheCycleFillsSmallBoards) {
  for (const char* grid : {"4", "6"}) {
    for (const char* actions : {"relative", "absolute"}) {
      const Totals totals = play_script(
          {{"grid", grid}, {"actions", actions}, {"max_steps", "10000"}}, "hamiltonian", 20, 1500);
      EXPECT_GT(totals.episodes, 20) << grid;
      EXPECT_EQ(totals.measures[5], totals.episodes) << grid;  // all won
    }
  }
}

TEST(SnakePlay, TheCycleNeverDies) {
  for (const char* grid : {"8", "10", "20"}) {
    const Totals totals = play_script({{"grid", grid}}, "hamiltonian", 20, 3000);
    EXPECT_GE(totals.episodes, 60) << grid;
    EXPECT_EQ(totals.measures[4] + totals.measures[5], totals.episodes) << grid;  // timeout or won
  }
}

TEST(SnakePlay, OddBoardsHaveNoCycle) {
  EXPECT_EQ(make_worlds({"snake", {{"grid", "9"}}}, 1)->scripts().size(), 2u);
  EXPECT_EQ(make_worlds({"snake", {{"grid", "8"}}}, 1)->scripts().size(), 3u);
}

TEST(SnakePlay, ScriptsPlayBetterThanChance) {
  for (const char* faithful : {"false", "true"}) {
    for (const char* actions : {"relative", "absolute"}) {
      const EnvOptions options = {{"faithful", faithful}, {"actions", actions}};
      const double random = play_script(options, "random", 50, 2000).score;
      const double direct = play_script(options, "direct", 50, 2000).score;
      const double astar = play_script(options, "astar", 50, 2000).score;
      EXPECT_LT(random, 1);
      EXPECT_GT(direct, 5);
      // Its paths may cross the tail, which kills in faithful mode.
      EXPECT_GT(astar, faithful == std::string("true") ? 10 : 20);
    }
  }
}

TEST(SnakePlay, PassesTheBatteryUnderManyOptions) {
  const std::vector<EnvOptions> all = {
      {{"obs", "flood"}},
      {{"obs", "selective"}, {"grid", "7"}},
      {{"obs", "enhanced"}, {"actions", "absolute"}},
      {{"obs", "grid"}, {"grid", "5"}},
      {{"faithful", "true"}},
      {{"faithful", "true"}, {"obs", "enhanced"}, {"grid", "4"}, {"max_steps", "30"}},
      {{"grid", "15"}, {"obs", "flood"}, {"soft_entrapment", "true"}, {"entrapped_flag", "true"}},
      {{"grid", "20"}, {"obs", "selective"}},
      {{"grid", "32"}, {"obs", "enhanced"}}};
  for (const EnvOptions& options : all) {
    for (const std::string& failure :
         check_env(find_env("snake"), {.values = snake_values(options)})) {
      ADD_FAILURE() << failure;
    }
  }
}

// Two histories of the same state, with the body at different places of its ring, save equal bytes.
TEST(SnakePlay, SavedBytesAreAFunctionOfTheState) {
  const SnakeRules rules = snake_rules_of({{"grid", "5"}});
  SnakeArray moved(1, rules), restored(1, rules);
  Rng rng(1, Purpose::test, 0, 0);
  moved.reset(0, rng);
  std::vector<std::byte> bytes(moved.row_bytes()), again(moved.row_bytes());
  std::vector<std::int32_t> actions(1);
  std::vector<float> rewards(1);
  std::vector<std::uint8_t> terminated(1);
  for (int t = 1; t <= 300; ++t) {
    moved.play(script_number(moved, "astar"), 0, 1, 1, Purpose::test, t, actions);
    moved.step(0, 1, actions, 1, Purpose::test, t, rewards, terminated);
    moved.save_row(0, bytes.data());
    ASSERT_TRUE(restored.restore_row(0, bytes.data()));
    std::fill(again.begin(), again.end(), std::byte{0xAB});
    restored.save_row(0, again.data());
    ASSERT_EQ(std::memcmp(bytes.data(), again.data(), bytes.size()), 0) << t;
    if (terminated[0]) moved.reset(0, rng);
  }
}

TEST(SnakePlay, StepsWithoutAllocating) {
  if (!kCountsAllocations) GTEST_SKIP();
  const int rows = 64;
  for (const char* obs : {"basic", "enhanced", "grid"}) {
    BatchEnv env(make_worlds({"snake", {{"obs", obs}, {"soft_entrapment", "true"}}}, rows), rows, 1,
                 Purpose::test);
    ThreadTeam team(1);
    std::vector<std::int32_t> actions(rows);
    env.step(actions, team);
    const std::int64_t before = allocations();
    for (int t = 0; t < 300; ++t) {
      env.worlds().play(1, 0, rows, 1, Purpose::test, t, actions);
      env.step(actions, team);
    }
    EXPECT_EQ(allocations(), before) << obs;
  }
}

}  // namespace
}  // namespace hotloop
