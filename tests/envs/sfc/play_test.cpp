// Full episodes: the battery under many options, saving, scripts against random play and against
// the heuristic that acts on all centres at once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "env/batch_env.hpp"
#include "env/check/battery.hpp"
#include "reference/sfc.hpp"
#include "tests/allocations.hpp"
#include "tests/envs/sfc/worlds.hpp"

namespace hotloop {
namespace {

constexpr int kHeuristic = 0, kGreedy = 1;

TEST(SfcPlay, PassesTheBatteryUnderManyOptions) {
  const std::vector<EnvOptions> all = {
      {{"centres", "2"}, {"mask", "on"}},
      {{"mask", "on"}, {"scale", "on"}, {"max_steps", "70"}},
      {{"traffic", "0.01"}, {"mask", "on"}},
      {{"rounds", "3"}, {"interval", "1"}, {"traffic", "0.05"}, {"timeout_reward", "-1"}},
      {{"mode", "paper"}},
      {{"mode", "paper"}, {"mask", "on"}, {"traffic", "0.1"}, {"interval", "1"}},
      {{"mode", "paper"}, {"centres", "8"}, {"mask", "on"}, {"scale", "on"}}};
  for (const EnvOptions& options : all) {
    for (const std::string& failure : check_env(find_env("sfc"), {.values = sfc_values(options)})) {
      ADD_FAILURE() << failure;
    }
  }
}

// Restored requests are at other places in memory; the bytes and all further steps are the same.
TEST(SfcPlay, ContinuesFromSavedBytes) {
  for (const char* mode : {"reference", "paper"}) {
    const EnvOptions options = {{"mode", mode},    {"centres", "3"},   {"rounds", "6"},
                                {"interval", "1"}, {"traffic", "0.1"}, {"pending_cap", "90"}};
    OneSfc played(options), restored(options);
    played.reset(4);
    std::vector<std::byte> bytes(played.array.row_bytes()), again(played.array.row_bytes());
    int max_active = 0;
    for (int t = 1; t <= 3000; ++t) {
      played.array.save_row(0, bytes.data());
      if (t % 7 == 0) {
        ASSERT_TRUE(restored.array.restore_row(0, bytes.data()));
      }
      if (t < 7) continue;
      restored.steps = played.steps;
      std::fill(again.begin(), again.end(), std::byte{0xAB});
      restored.array.save_row(0, again.data());
      ASSERT_EQ(std::memcmp(bytes.data(), again.data(), bytes.size()), 0) << t;
      ASSERT_EQ(played.observe(), restored.observe()) << t;
      Rng rng(2, Purpose::exploration, 0, t);
      auto action = static_cast<int>(rng.below(13));
      while (!played.mask()[action]) action = static_cast<int>(rng.below(13));
      const Step one = played.step(action), two = restored.step(action);
      ASSERT_EQ(one.reward, two.reward) << t;
      max_active = std::max(max_active, played.world().active);
    }
    EXPECT_GT(max_active, 5);
  }
}

TEST(SfcPlay, StepsWithoutAllocating) {
  if (!kCountsAllocations) GTEST_SKIP();
  const int rows = 16;
  for (const char* mode : {"reference", "paper"}) {
    const EnvOptions options = {
        {"mode", mode}, {"mask", "on"}, {"traffic", "0.05"}, {"max_steps", "200"}};
    BatchEnv env(make_worlds({"sfc", options}, rows), rows, 1, Purpose::test);
    ThreadTeam team(1);
    std::vector<std::int32_t> actions(rows);
    std::fill(actions.begin(), actions.end(), kWait);
    env.step(actions, team);
    const std::int64_t before = allocations();
    for (int t = 0; t < 1000; ++t) {
      env.worlds().play(t / 500, 0, rows, 1, Purpose::test, t, actions);
      env.step(actions, team);
    }
    EXPECT_EQ(allocations(), before) << mode;
  }
}

// Mean of satisfied / generated over `episodes`, one per row.
double acceptance(const EnvOptions& options, int script, int episodes) {
  SfcArray array(episodes, sfc_rules_of(options));
  for (int row = 0; row < episodes; ++row) {
    Rng rng(9, Purpose::test, row, 0);
    array.reset(row, rng);
  }
  std::vector<std::int32_t> actions(episodes);
  std::vector<float> rewards(episodes);
  std::vector<std::uint8_t> terminated(episodes);
  double sum = 0;
  for (int row = 0; row < episodes; ++row) {
    bool over = false;
    for (int t = 1; t <= array.spec().max_steps && !over; ++t) {
      array.play(script, row, row + 1, 9, Purpose::test, t, actions);
      array.step(row, row + 1, actions, 9, Purpose::test, t, rewards, terminated);
      over = terminated[row];
    }
    std::array<float, kMaxMeasures> measures{};
    array.measure(row, measures);
    sum += measures[0];
  }
  return sum / episodes;
}

// On the same episodes: centres and first requests are drawn from the same streams.
double direct_acceptance(const EnvOptions& options, int episodes) {
  double sum = 0;
  for (int row = 0; row < episodes; ++row) {
    reference::Sfc sfc(sfc_rules_of(options));
    Rng reset(9, Purpose::test, row, 0), first(9, Purpose::test, row, 1);
    sfc.reset(reset);
    reference::place_by_heuristic(sfc, first, 10000);
    sum += sfc.measure()[0];
  }
  return sum / episodes;
}

// Both do badly: with one function per request and pass, the centres fill with chains that cannot
// be finished. Finishing chains first does better.
TEST(SfcPlay, TheScriptIsAsGoodAsTheHeuristic) {
  for (const char* centres : {"2", "4", "6", "8"}) {
    const EnvOptions options = {{"centres", centres}};
    const double script = acceptance(options, kHeuristic, 30);
    const double direct = direct_acceptance(options, 30);
    EXPECT_GT(script, direct - 0.05) << centres;
    EXPECT_GT(direct, 0.02) << centres;
    EXPECT_GT(acceptance(options, kGreedy, 30), script + 0.3) << centres;
  }
}

}  // namespace
}  // namespace hotloop
