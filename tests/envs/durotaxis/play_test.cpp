// Full episodes: the battery under many options, saving, scripts against random play.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "env/batch_env.hpp"
#include "env/check/battery.hpp"
#include "tests/allocations.hpp"
#include "tests/envs/durotaxis/worlds.hpp"

namespace hotloop {
namespace {

TEST(DurotaxisPlay, PassesTheBatteryUnderManyOptions) {
  const std::vector<EnvOptions> all = {
      {{"reward", "normal"}, {"ratio", "1"}, {"recovery", "on"}},
      {{"reward", "combined"}, {"substrate", "random"}, {"ratio", "0.7"}, {"scale", "unit"}},
      {{"stage", "1"}, {"hard_limit", "12"}, {"soft_limit", "6"}, {"bonus", "on"}},
      // The steepest allowed.
      {{"reward", "normal"},
       {"substrate", "exponential"},
       {"slope", "0.1168"},
       {"offset", "100"},
       {"ratio", "0.8"}}};
  for (const EnvOptions& options : all) {
    const BatteryOptions battery = {
        .rows = 19, .steps = 80, .values = option_values(find_env("durotaxis"), options)};
    for (const std::string& failure : check_env(find_env("durotaxis"), battery)) {
      ADD_FAILURE() << name_of(options) << failure;
    }
  }
}

TEST(DurotaxisPlay, ContinuesFromSavedBytes) {
  const EnvOptions options = {{"reward", "normal"},  {"ratio", "0.7"},        {"soft_limit", "8"},
                              {"hard_limit", "300"}, {"substrate", "random"}, {"bonus", "on"}};
  OneColony played(options), restored(options);
  std::vector<std::byte> bytes(played.array.row_bytes()), again(played.array.row_bytes());
  int marked = 0;
  for (std::uint64_t episode = 0; episode < 20; ++episode) {
    played.reset(episode);
    for (int t = 1; t <= 60; ++t) {
      played.array.save_row(0, bytes.data());
      if (t % 7 == 1) {
        ASSERT_TRUE(restored.array.restore_row(0, bytes.data()));
      }
      std::fill(again.begin(), again.end(), std::byte{0xAB});
      restored.array.save_row(0, again.data());
      ASSERT_EQ(std::memcmp(bytes.data(), again.data(), bytes.size()), 0) << t;
      ASSERT_EQ(played.observe(), restored.observe()) << t;
      Rng rng(episode, Purpose::exploration, 0, t);
      Action5 action = random_action(played.array.spec(), rng);
      action[0] = static_cast<float>(rng.uniform(0.3, 0.5));
      const Step one = played.step(action), two = restored.step(action);
      ASSERT_EQ(one.reward, two.reward) << t;
      ASSERT_EQ(one.terminated, two.terminated) << t;
      for (int i = 0; i < played.world().count; ++i) marked += played.world().cells.marked[i];
      if (one.terminated) break;
    }
  }
  EXPECT_GT(marked, 10);
}

TEST(DurotaxisPlay, StepsWithoutAllocating) {
  if (!kCountsAllocations) GTEST_SKIP();
  const int rows = 16;
  for (const char* mode : {"normal", "distance"}) {
    const EnvOptions options = {{"reward", mode}, {"ratio", "1"}, {"recovery", "on"}};
    BatchEnv env(make_worlds({"durotaxis", options}, rows), rows, 1, Purpose::test);
    ThreadTeam team(1);
    std::vector<float> actions(rows * 5);
    env.worlds().play(0, 0, rows, 1, Purpose::test, 0, actions);
    env.step(actions, team);
    const std::int64_t before = allocations();
    for (int t = 0; t < 500; ++t) {
      Rng rng(1, Purpose::exploration, 0, t);
      for (int row = 0; row < rows; ++row) {
        const Action5 action = random_action(env.spec(), rng);
        std::copy(action.begin(), action.end(), &actions[row * 5]);
      }
      env.step(actions, team);
    }
    EXPECT_EQ(allocations(), before) << mode;
  }
}

struct Outcome {
  double success = 0;              // episodes
  double centroid = 0, steps = 0;  // means
};

// One episode per row; script -1 draws each action from the whole box.
Outcome outcome(const EnvOptions& options, int script, int episodes) {
  DurotaxisArray array(episodes, durotaxis_rules_of(options));
  std::vector<float> actions(episodes * 5), rewards(episodes);
  std::vector<std::uint8_t> terminated(episodes);
  Outcome sum;
  for (int row = 0; row < episodes; ++row) {
    Rng start(9, Purpose::test, row, 0);
    array.reset(row, start);
    int t = 0;
    do {
      ++t;
      if (script >= 0) {
        array.play(script, row, row + 1, 9, Purpose::test, t, actions);
      } else {
        Rng rng(9, Purpose::exploration, row, t);
        for (int i = 0; i < 5; ++i) {
          actions[row * 5 + i] = static_cast<float>(
              rng.uniform(array.spec().action_low[i], array.spec().action_high[i]));
        }
      }
      array.step(row, row + 1, actions, 9, Purpose::test, t, rewards, terminated);
    } while (!terminated[row] && t < array.spec().max_steps);
    std::array<float, kMaxMeasures> measures{};
    array.measure(row, measures);
    sum.success += measures[0];
    sum.centroid += measures[2] / episodes;
    sum.steps += static_cast<double>(t) / episodes;
  }
  return sum;
}

// Section 18.10. The recorded figures are from this test, over 100 episodes.
TEST(DurotaxisPlay, ScriptsSucceedAndChanceDoesNot) {
  for (const char* ratio : {"0.5", "0.7"}) {
    const EnvOptions options = {{"ratio", ratio}};
    const Outcome fixed = outcome(options, 0, 100), fastest = outcome(options, 1, 100);
    const Outcome random = outcome(options, -1, 100);
    EXPECT_EQ(fixed.success, 100) << ratio;
    EXPECT_EQ(fastest.success, 100) << ratio;
    EXPECT_LT(fastest.steps, fixed.steps) << ratio;
    EXPECT_GT(fixed.centroid, 550) << ratio;
    EXPECT_LT(random.success, 10) << ratio;
    EXPECT_LT(random.centroid, 300) << ratio;
    for (const auto& [name, found] :
         {std::pair("fixed", fixed), std::pair("fastest", fastest), std::pair("random", random)}) {
      RecordProperty(std::string(name) + "_" + ratio,
                     "success " + std::to_string(found.success) + ", centroid " +
                         std::to_string(found.centroid) + ", steps " + std::to_string(found.steps));
    }
  }
}

// All observations stay near 1 from one end of the field to the other.
TEST(DurotaxisPlay, UnitScaleIsAboutOne) {
  for (const char* substrate : {"linear", "exponential", "random"}) {
    OneColony colony(EnvOptions{{"substrate", substrate}, {"scale", "unit"}});
    float most = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      colony.reset(seed);
      for (int t = 0; t < 49; ++t) {
        const bool over = colony.step({0.499f, 15, 0.5f, 0.5f, t % 2 ? 0.1f : -0.1f}).terminated;
        const std::vector<float> obs = colony.observe();
        for (int i = 0; i < 19 + 1400; ++i) most = std::max(most, std::abs(obs[i]));
        if (over) break;
      }
    }
    EXPECT_LT(most, 5) << substrate;
    EXPECT_GT(most, 0.9) << substrate;
  }
}

}  // namespace
}  // namespace hotloop
