// Worked numbers: from the specification where a test names its section, otherwise by hand.
#include "envs/durotaxis/durotaxis.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>

#include <cmath>
#include <set>
#include <string>

#include "tests/envs/durotaxis/worlds.hpp"

namespace hotloop {
namespace {

constexpr Action5 kGrow = {0, 7.75f, 2.25f, 0.275f, 0};  // no cell is deleted

std::vector<int> sizes(OneColony& colony, float ratio, int steps) {
  std::vector<int> found;
  for (int i = 0; i < steps; ++i) {
    colony.step({ratio, 0, 0, 0, 0});
    found.push_back(colony.world().count);
  }
  return found;
}

// Section 18.1.
TEST(Durotaxis, FieldAndLookup) {
  const DurotaxisField linear{false, 0.05, 1};
  EXPECT_EQ(linear.at(0, 600), 1);
  EXPECT_EQ(linear.at(20.7, 600), 2);
  EXPECT_EQ(linear.at(20, 600), 2);
  EXPECT_NEAR(linear.at(599, 600), 30.95, 1e-12);
  EXPECT_EQ(linear.at(-3, 600), 1);
  EXPECT_EQ(linear.at(1e9, 600), linear.at(599, 600));
  EXPECT_NEAR((DurotaxisField{true, 0.05, 1}.at(100, 600)), 148.4132, 1e-4);
}

// Section 18.2.
TEST(Durotaxis, Spawn) {
  const auto child = [](const EnvOptions& options, float x, Action5 action) {
    OneColony colony(options);
    colony.place({x}, {200});
    colony.step(action);
    EXPECT_EQ(colony.world().count, 2);
    EXPECT_EQ(colony.world().cells.parent[1], 0);
    return std::pair(colony.world().cells.x[1], colony.world().cells.y[1]);
  };
  const EnvOptions first_stage = {{"stage", "1"}};
  const auto expect = [](std::pair<float, float> found, double x, double y) {
    EXPECT_NEAR(found.first, x, 1e-5 * x);
    EXPECT_NEAR(found.second, y, 1e-5 * y);
  };
  expect(child({}, 20.7f, {0, 5, 2, 0.1f, 0}), 23.3, 200);
  expect(child(first_stage, 20.7f, {0, 15, 4, 0.5f, 0.5f}), 21.05, 200);
  expect(child({}, 20.7f, {0, 7.75f, 2.25f, 0.275f, 0.5236f}), 23.900559, 201.847849);
  expect(child(first_stage, 3, {}), 6, 200);
  expect(child(first_stage, 593.8f, {}), 594, 200);
  // Values beyond the bounds are clipped: gamma 15, alpha 0.5, noise 0.5; I = 2.
  expect(child({}, 20.7f, {-3, 99, 0, 9, 0}), 20.7 + 15 / 1.0625 + 0.5, 200);
}

TEST(Durotaxis, SuccessAtTheMargin) {
  OneColony colony(EnvOptions{{"stage", "1"}});
  colony.place({593.8f}, {200});
  const Step last = colony.step({});
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(colony.reward().termination, 500);
  EXPECT_NEAR(last.reward - colony.reward().graph, 10, 1e-6);  // scaled
  EXPECT_EQ(colony.measure("success"), 1);
  EXPECT_NEAR(colony.measure("progress"), 593.9 / 599, 1e-6);
  EXPECT_NEAR(colony.measure("centroid"), 593.9, 1e-3);
}

// Sections 5.2 and 18.4.
TEST(Durotaxis, Population) {
  OneColony colony(EnvOptions{{"stage", "1"}});
  colony.reset(1);
  EXPECT_EQ(sizes(colony, 0.25f, 8), (std::vector<int>{8, 12, 18, 28, 42, 64, 96, 144}));
  EXPECT_EQ(colony.reward().termination, -15);
  EXPECT_NEAR(colony.reward().total - colony.reward().graph, -0.3, 1e-12);

  colony.reset(2);
  std::vector<int> expected;
  for (int t = 1; t <= 49; ++t) expected.push_back(4 + 2 * t);
  EXPECT_EQ(sizes(colony, 0.499f, 49), expected);
  EXPECT_EQ(colony.reward().termination, -15);

  OneColony twenty(EnvOptions{{"cells", "20"}});
  twenty.reset(3);
  EXPECT_EQ(sizes(twenty, 0.2f, 2), (std::vector<int>{32, 52}));
  twenty.reset(3);
  EXPECT_EQ(sizes(twenty, 0.5f, 5), (std::vector<int>{20, 20, 20, 20, 20}));
}

// Sections 5.5 and 18.4: a chain of five loses its two leftmost cells.
TEST(Durotaxis, DeletionReconnects) {
  OneColony colony;
  colony.reset(4);
  ASSERT_EQ(colony.world().shape.edges, 4);
  colony.step({0.4f, 0, 0, 0, 0});
  EXPECT_EQ(colony.world().count, 6);
  EXPECT_EQ(colony.world().shape.edges, 5);

  // Cell 1, between 0 and {2, 3}, is deleted: its children, including the new one, go to 0. Then 0,
  // the root of all, is deleted: its children become roots.
  colony.place({20, 10, 30, 40}, {200, 200, 200, 200}, {-1, 0, 1, 1});
  colony.step({0.25f, 0.5f, 2, 0.1f, 0});  // cells are now 0, 2, 3 and their children
  const auto parents = [&] {
    return std::vector<int>(colony.world().cells.parent,
                            colony.world().cells.parent + colony.world().count);
  };
  EXPECT_EQ(parents(), (std::vector<int>{-1, 0, 0, 0, 1, 2}));
  colony.step({0.2f, 0.5f, 2, 0.1f, 0});  // the first of them is the leftmost
  EXPECT_EQ(parents(), (std::vector<int>{-1, -1, -1, 0, 1, 0, 1, 2, 3, 4}));
}

// Section 18.4.
TEST(Durotaxis, TiesGoToTheLowerIndex) {
  const std::array<float, 4> x = {6, 6, 6, 7};
  std::array<std::uint8_t, 4> chosen{};
  durotaxis_leftmost(x, 2, chosen.data());
  EXPECT_EQ(chosen, (std::array<std::uint8_t, 4>{1, 1, 0, 0}));
  const std::array<float, 4> y = {7, 6, 6, 6};
  durotaxis_leftmost(y, 2, chosen.data());
  EXPECT_EQ(chosen, (std::array<std::uint8_t, 4>{0, 1, 1, 0}));
}

// Section 18.5; with I = 2.5 the distance is 0.5 / 1.64 + noise = 0.4.
TEST(Durotaxis, DistanceReward) {
  const Action5 action = {0, 0.5f, 2, 0.4f - 0.5f / 1.64f, 0};
  OneColony colony;
  colony.place({30.2f}, {200});
  EXPECT_NEAR(colony.step(action).reward, -0.949249, 1e-6);
  Action5 half = action;
  half[0] = 0.5f;
  EXPECT_NEAR(colony.step(half).reward, 0.003339, 1e-6);
  EXPECT_NEAR(colony.world().shape.x, 30.8, 1e-5);

  OneColony fixed(EnvOptions{{"delta", "off"}});
  fixed.place({30.2f}, {200});
  fixed.step(action);
  EXPECT_NEAR(fixed.step(half).reward, -568.2 / 599, 1e-6);
}

// Sections 7.1, 7.2 and 18.5.
TEST(Durotaxis, PartsOfRewards) {
  const DurotaxisRules rules;
  EXPECT_NEAR(durotaxis_growth_penalty(rules, 51), -3.06, 1e-12);
  EXPECT_NEAR(durotaxis_growth_penalty(rules, 75), -4.5, 1e-12);
  EXPECT_NEAR(durotaxis_growth_penalty(rules, 100), -6, 1e-12);
  EXPECT_EQ(durotaxis_growth_penalty(rules, 50), 0);
  EXPECT_NEAR(durotaxis_cell_reward(rules, 30, 200, 2.5, false, 0), 0.60, 1e-12);
  EXPECT_NEAR(durotaxis_cell_reward(rules, 300, 10, 16, false, 0), -0.20, 1e-12);
  EXPECT_NEAR(durotaxis_cell_reward(rules, 300, 10, 16, true, 0), -0.10, 1e-12);
  EXPECT_NEAR(durotaxis_cell_reward(rules, 300, 370, 16, false, 1), 4.8 - 2 + 1.5, 1e-12);
  EXPECT_NEAR(durotaxis_cell_reward(rules, 300, 50, 16, false, -1), 4.8 - 0.5 - 0.3, 1e-12);
  EXPECT_EQ(durotaxis_spawn_reward(rules, 30, 0), -9);
  EXPECT_EQ(durotaxis_spawn_reward(rules, 350, 2.5), -3 + 2.5);
  EXPECT_EQ(durotaxis_spawn_reward(rules, 200, 2.49), -1);
  EXPECT_EQ(durotaxis_efficiency(50, 20), 0);
  EXPECT_NEAR(durotaxis_efficiency(22, 21), 0.1, 1e-12);
  EXPECT_NEAR(durotaxis_efficiency(60, 59), 0.5 + 3.9, 1e-12);
  // Section 7.3.
  EXPECT_NEAR(durotaxis_survival(rules, 1), 0.0100125, 1e-12);
  EXPECT_NEAR(durotaxis_survival(rules, 100), 0.03375, 1e-12);
  EXPECT_NEAR(durotaxis_survival(rules, 400), 0.045, 1e-12);
  EXPECT_NEAR(durotaxis_survival(rules, 800), 0.06, 1e-12);
  EXPECT_NEAR(durotaxis_survival(rules, 5000), 0.06, 1e-12);
}

// One cell at (30, 200) in stage 1: it spawns at r = 0.404878 to its right; both count as boundary.
TEST(Durotaxis, NormalModeByHand) {
  OneColony colony(EnvOptions{{"reward", "normal"}, {"stage", "1"}});
  colony.place({30}, {200});
  const Step step = colony.step({});
  const DurotaxisReward& reward = colony.reward();
  const double r = 0.5 / 1.64 + 0.1;
  EXPECT_NEAR(reward.centroid, 5 * r / 2, 1e-5);
  EXPECT_EQ(reward.spawn, -1);
  EXPECT_EQ(reward.deletion, 0);
  EXPECT_EQ(reward.edge, 0.5);
  EXPECT_NEAR(reward.graph, 0.1 + 0.01 + 5 * r / 2 - 1 + 0.5, 1e-5);
  EXPECT_NEAR(reward.node, 2 * (0.60 + 0.1), 1e-9);
  EXPECT_NEAR(reward.survival, 0.0100125, 1e-9);
  EXPECT_EQ(reward.milestone, 0);
  EXPECT_NEAR(step.reward, reward.graph + reward.node + reward.survival, 1e-6);
  std::array<float, kMaxRewardParts> parts{};
  colony.array.reward_parts(0, 1, parts);
  EXPECT_EQ(parts[0], static_cast<float>(reward.graph));
  EXPECT_EQ(parts[1], -1);
  EXPECT_EQ(parts[2], 0);
  EXPECT_EQ(parts[3], 0.5f);
  EXPECT_EQ(parts[4], static_cast<float>(reward.node));

  colony.step({0.5f, 0, 0, 0, 0});  // the old one is deleted without a mark
  EXPECT_EQ(colony.reward().deletion, -2);
  EXPECT_EQ(colony.measure("delete"), -2);
  EXPECT_EQ(colony.measure("spawn"), -2);
  EXPECT_EQ(colony.measure("ratio"), 0.25f);
  EXPECT_EQ(colony.measure("gamma"), 0.5f);
  EXPECT_EQ(colony.measure("alpha"), 2);
  EXPECT_EQ(colony.measure("theta"), 0);
  EXPECT_EQ(colony.measure("cells"), 2);
}

// Two actions, means by hand. Rewards are sums over the steps, each under its own name.
TEST(Durotaxis, MeasuresMatchTheirNames) {
  OneColony colony(EnvOptions{{"reward", "normal"}, {"ratio", "0.7"}});
  colony.place({140, 150, 155, 160, 162}, {200, 210, 190, 20, 380});
  const std::vector<std::pair<const char*, double DurotaxisReward::*>> named = {
      {"graph", &DurotaxisReward::graph},         {"spawn", &DurotaxisReward::spawn},
      {"delete", &DurotaxisReward::deletion},     {"efficiency", &DurotaxisReward::efficiency},
      {"edge", &DurotaxisReward::edge},           {"centroid_reward", &DurotaxisReward::centroid},
      {"milestone", &DurotaxisReward::milestone}, {"node", &DurotaxisReward::node},
      {"survival", &DurotaxisReward::survival}};
  std::vector<double> sums(named.size());
  double cells = 0;  // of both steps
  for (const Action5& action : {Action5{0.25f, 6, 1, 0.2f, 0.25f}, {0.5f, 10, 3, 0.4f, -0.125f}}) {
    colony.step(action);
    for (std::size_t i = 0; i < named.size(); ++i) sums[i] += colony.reward().*named[i].second;
    cells += colony.reward().cells;
  }
  EXPECT_NEAR(colony.measure("cell_reward"), colony.measure("node") / cells, 1e-5);
  for (std::size_t i = 0; i < named.size(); ++i) {
    EXPECT_NEAR(colony.measure(named[i].first), sums[i], 1e-5 * std::abs(sums[i]))
        << named[i].first;
  }
  EXPECT_EQ(std::set<double>(sums.begin(), sums.end()).size(), sums.size()) << "two sums are equal";
  EXPECT_NEAR(colony.measure("ratio"), 0.375, 1e-6);
  EXPECT_NEAR(colony.measure("gamma"), 8, 1e-6);
  EXPECT_NEAR(colony.measure("alpha"), 2, 1e-6);
  EXPECT_NEAR(colony.measure("noise"), 0.3, 1e-6);
  EXPECT_NEAR(colony.measure("theta"), 0.0625, 1e-6);
}

// Section 7.3.
TEST(Durotaxis, MilestonesCountOnce) {
  OneColony colony(EnvOptions{{"reward", "normal"}, {"ratio", "0.7"}});
  colony.place({455}, {200});
  colony.step(kGrow);
  EXPECT_EQ(colony.reward().milestone, 50 + 150 + 300);
  colony.step(kGrow);
  EXPECT_EQ(colony.reward().milestone, 0);
  colony.place({149, 149}, {200, 210});
  float sum = 0;
  while (!colony.step({0.5f, 15, 0.5f, 0.5f, 0}).terminated) {
    if (colony.reward().milestone > 0)
      sum = 1000 * sum + static_cast<float>(colony.reward().milestone);
  }
  EXPECT_EQ(sum, 50150300500.0f);
  EXPECT_EQ(colony.measure("milestone"), 1000);
}

// Section 7.8: depends on the number of previous steps. In stage 1 with two cells, and with twelve.
TEST(Durotaxis, BonusForLength) {
  for (const int cells : {2, 12}) {
    OneColony colony(EnvOptions{{"bonus", "on"}, {"stage", "1"}, {"cells", std::to_string(cells)}});
    colony.reset(5);
    for (int t = 0; t < 350; ++t) {
      const float reward = colony.step({0.5f, 0, 0, 0, 0}).reward;
      double expected = t == 0 ? 0 : t < 3 ? 3 : t < 5 ? 10 : t < 10 ? 11 : t < 300 ? 13 : 11;
      if (t >= 30 && cells <= 10) expected += 4;
      ASSERT_NEAR(reward - colony.reward().graph, expected, 1e-5) << t;
    }
  }
}

// Section 8.
TEST(Durotaxis, Endings) {
  OneColony dying(EnvOptions{{"ratio", "1"}});
  dying.reset(1);
  Step last = dying.step({1, 0, 0, 0, 0});
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(dying.world().count, 0);
  EXPECT_EQ(dying.reward().termination, -100);
  EXPECT_EQ(last.reward, -2);
  EXPECT_EQ(dying.measure("progress"), 0);

  OneColony outside;
  outside.place({-1, 30}, {200, 200});
  EXPECT_TRUE(outside.step(kGrow).terminated);
  EXPECT_EQ(outside.reward().termination, -100);

  // Growth moves the centroid to the right. After a new setup it may be further left.
  OneColony restless(EnvOptions{
      {"ratio", "1"}, {"recovery", "on"}, {"recovery_attempts", "1000"}, {"patience", "3"}});
  restless.reset(2);
  std::vector<double> x = {restless.world().shape.x};
  do {
    last = restless.step({1, 0, 0, 0, 0});
    EXPECT_EQ(restless.reward().recovery, -50);
    EXPECT_EQ(restless.world().count, 5);
    x.push_back(restless.world().shape.x);
  } while (!last.terminated && x.size() < 500);
  ASSERT_GT(x.size(), 3u);
  EXPECT_EQ(restless.reward().termination, -50);
  for (int i = 0; i < 3; ++i) EXPECT_LT(x[x.size() - 1 - i], x[x.size() - 2 - i]);
  EXPECT_NEAR(last.reward, 5 * (x[x.size() - 1] - x[x.size() - 2]) / 599 - 50 - 1, 1e-5);
}

TEST(Durotaxis, RecoveryRunsOut) {
  OneColony colony(EnvOptions{{"ratio", "1"}, {"recovery", "on"}});
  colony.reset(3);
  EXPECT_FALSE(colony.step({1, 0, 0, 0, 0}).terminated);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(colony.world().cells.grown[i], 0);
  EXPECT_FALSE(colony.step({1, 0, 0, 0, 0}).terminated);
  EXPECT_TRUE(colony.step({1, 0, 0, 0, 0}).terminated);
  EXPECT_EQ(colony.measure("recovery"), -100) << "it recovered twice";
}

// Section 7.6: what the end adds.
TEST(Durotaxis, TerminationByMode) {
  const auto added = [](const EnvOptions& options) {
    OneColony colony(options);
    colony.place({593.8f}, {200});
    const Step last = colony.step(kGrow);
    EXPECT_TRUE(last.terminated);
    const DurotaxisReward& reward = colony.reward();
    return last.reward - (reward.graph + reward.node + reward.survival + reward.milestone);
  };
  EXPECT_NEAR(added({{"reward", "normal"}}), 500, 1e-3);
  EXPECT_NEAR(added({{"reward", "normal"}, {"include_termination", "off"}}), 500, 1e-3);
  EXPECT_NEAR(added({{"reward", "delete"}}), 500, 1e-3);
  EXPECT_NEAR(added({{"reward", "distance"}}), 10, 1e-5);
  EXPECT_NEAR(added({{"reward", "combined"}}), 10, 1e-5);
  EXPECT_NEAR(added({{"terminal_scale", "0.01"}}), 5, 1e-5);
  EXPECT_NEAR(added({{"terminal_clip", "3"}}), 3, 1e-5);
  for (const char* mode : {"delete", "distance", "combined"}) {
    EXPECT_NEAR(added({{"reward", mode}, {"include_termination", "off"}}), 0, 1e-6);
  }
}

// Three cells at the corners of a right triangle and one inside, joined 0 -> 1 -> 2, 0 -> 3.
TEST(Durotaxis, ObservationByHand) {
  OneColony colony;
  colony.place({10, 40, 10, 15}, {200, 200, 240, 210}, {-1, 0, 1, 0});
  const std::vector<float> obs = colony.observe();
  ASSERT_EQ(obs.size(), 19u + 15 * 100);
  const std::vector<double> graph = {4,
                                     3,
                                     0.25,
                                     18.75,
                                     212.5,
                                     10,
                                     200,
                                     40,
                                     240,
                                     30,
                                     40,
                                     1200,
                                     600,
                                     0.75,
                                     2,
                                     6,
                                     1.9375,
                                     3,
                                     1.5 + 3 + 1.5 + 1.75};
  for (int i = 0; i < 19; ++i) EXPECT_NEAR(obs[i], graph[i], 1e-4) << i;
  const float* inside = &obs[19 + 3 * 11];
  const double d = (std::hypot(5, 10) + std::hypot(25, 10) + std::hypot(5, 30)) / 3;
  const std::vector<double> node = {15, 210, 1.75, 1, 0, 1 / d, std::hypot(3.75, 2.5), 0, 0, 0, 0};
  for (int i = 0; i < 11; ++i) EXPECT_NEAR(inside[i], node[i], 1e-5 * (1 + node[i])) << i;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(obs[19 + i * 11 + 7], 1);
  const float* edge = &obs[19 + 1100];
  EXPECT_EQ(std::vector<float>(edge, edge + 3), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(edge[3], 30);
  EXPECT_EQ(edge[4], 1);
  EXPECT_NEAR(edge[5], 0, 1e-8);
  EXPECT_EQ(edge[6], 50);
  EXPECT_NEAR(edge[7], -0.6, 1e-7);
  EXPECT_NEAR(edge[8], 0.8, 1e-7);
  const float* parents = &obs[19 + 1400];
  EXPECT_EQ(std::vector<float>(parents, parents + 5), (std::vector<float>{-1, 0, 1, 0, -2}));

  colony.step(kGrow);  // adds four new cells
  const std::vector<float> next = colony.observe();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(next[19 + i * 11 + 8], i < 4 ? 0 : 1);
    EXPECT_EQ(next[19 + i * 11 + 9], 0) << "the state from before the step";
    EXPECT_EQ(next[19 + i * 11 + 10], 0);
  }
  colony.step(kGrow);
  const std::vector<float> then = colony.observe();
  EXPECT_EQ(then[19 + 9], 0.01f);
  EXPECT_EQ(then[19 + 10], 0);
  EXPECT_EQ(then[19 + 7 * 11 + 9], 0.01f);
  EXPECT_EQ(then[19 + 8 * 11 + 9], 0);
  colony.step(kGrow);
  const std::vector<float> last = colony.observe();
  EXPECT_EQ(last[19 + 9], 0.02f);
  EXPECT_EQ(last[19 + 10], 0.02f);
  EXPECT_EQ(last[19 + 8 * 11 + 9], 0.01f);
}

TEST(Durotaxis, ShowsTheFirstOfTooManyCells) {
  OneColony colony(EnvOptions{{"stage", "1"}});
  colony.reset(1);
  sizes(colony, 0.25f, 8);
  const std::vector<float> obs = colony.observe();
  EXPECT_EQ(obs[0], 144);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(obs[19 + i * 11], colony.world().cells.x[i]);
    EXPECT_EQ(obs[19 + 1400 + i], static_cast<float>(colony.world().cells.parent[i]));
    EXPECT_LT(obs[19 + 1400 + i], 100);
  }
}

TEST(Durotaxis, RandomSubstratesFollowTheOptions) {
  OneColony colony(EnvOptions{{"substrate", "random"}});
  int exponential = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    colony.reset(seed);
    const DurotaxisField& field = colony.world().field;
    exponential += field.exponential;
    ASSERT_TRUE(field.slope >= 0.01 && field.slope < (field.exponential ? 0.05 : 0.1));
    ASSERT_TRUE(field.offset >= 0.5 && field.offset < (field.exponential ? 1.5 : 2));
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(colony.world().cells.x[i] >= 0 && colony.world().cells.x[i] < 60);
      ASSERT_TRUE(colony.world().cells.y[i] >= 160 && colony.world().cells.y[i] < 240);
    }
  }
  EXPECT_NEAR(exponential, 1000, 100);
}

TEST(Durotaxis, PictureHasFewColours) {
  OneColony colony(EnvOptions{{"substrate", "exponential"}});
  colony.reset(1);
  for (int i = 0; i < 6; ++i) colony.step({0.4f, 15, 2, 0.5f, 0.3f});
  const Picture picture = colony.array.picture(0);
  EXPECT_EQ(picture.width, 150);
  EXPECT_EQ(picture.height, 110);
  std::set<std::array<int, 3>> colours;
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3) {
    colours.insert({picture.rgb[i], picture.rgb[i + 1], picture.rgb[i + 2]});
  }
  EXPECT_LE(colours.size(), 64u);
  EXPECT_TRUE(colours.count({255, 255, 255}));  // the centroid
  EXPECT_TRUE(colours.count({255, 190, 150}));  // new cells
}

TEST(Durotaxis, RefusesContradictions) {
  const auto refusal = [](const EnvOptions& options) -> std::string {
    try {
      make_worlds({"durotaxis", options}, 1);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const auto npos = std::string::npos;
  EXPECT_NE(refusal({{"cells", "101"}}).find("hard_limit 100"), npos);
  EXPECT_NE(refusal({{"substrate", "exponential"}, {"slope", "0.2"}}).find("0.1169"), npos);
  EXPECT_EQ(refusal({{"slope", "0.2"}}), "");
  EXPECT_NE(refusal({{"width", "100"}}).find("0.9800"), npos);
  EXPECT_EQ(refusal({{"width", "100"}, {"success", "0.98"}}), "");
  EXPECT_EQ(refusal({{"width", "333"}}), "");
}

// The success line and the margin meet at any width, so the last cell can always succeed.
TEST(Durotaxis, TheSuccessLineIsWithinReach) {
  for (int width = 200; width <= 1400; ++width) {
    DurotaxisRules rules;
    rules.width = width;
    EXPECT_LE(rules.success_line(), static_cast<float>(width - rules.margin_x())) << width;
    EXPECT_NEAR(rules.success_line(), 0.99 * width, 1e-3) << width;
  }
}

}  // namespace
}  // namespace hotloop
