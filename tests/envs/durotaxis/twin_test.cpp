// The array against its slow twin: rewards and their components, ends, observations; and the
// forest.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "envs/durotaxis/hull.hpp"
#include "reference/durotaxis.hpp"
#include "reference/reward_record.hpp"
#include "tests/envs/durotaxis/worlds.hpp"

namespace hotloop {
namespace {

// Every cell has at most one parent, and no cell is its own ancestor.
void expect_forest(const DurotaxisWorld& world, const std::string& where) {
  int edges = 0;
  for (int i = 0; i < world.count; ++i) {
    const int parent = world.cells.parent[i];
    ASSERT_TRUE(parent >= -1 && parent < world.count && parent != i) << where;
    edges += parent >= 0;
    int up = i;
    for (int depth = 0; up >= 0; ++depth) {
      ASSERT_LE(depth, world.count) << where;
      up = world.cells.parent[up];
    }
  }
  ASSERT_EQ(edges, world.shape.edges) << where;
}

bool is_near(double found, double expected, double tolerance) {
  return std::abs(found - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

struct Follower {
  OneColony fast;
  reference::Durotaxis slow;
  int episodes = 0, steps = 0, marked = 0, successes = 0, deaths = 0, recoveries = 0, most = 0;
  int stiffer = 0, retreats = 0;  // rewards seen that are rare

  explicit Follower(const EnvOptions& options) : fast(options), slow(durotaxis_rules_of(options)) {}

  void compare(const std::string& where) {
    const std::vector<float> seen = fast.observe(), expected = slow.observe();
    ASSERT_EQ(seen.size(), expected.size()) << where;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_TRUE(is_near(seen[i], expected[i], 1e-5))
          << where << "feature " << i << ": " << seen[i] << ", expected " << expected[i];
    }
    // Values without rounding are equal: places, flags, parents.
    ASSERT_EQ(static_cast<std::size_t>(fast.world().count), slow.cells.size()) << where;
    for (int i = 0; i < fast.world().count; ++i) {
      ASSERT_EQ(fast.world().cells.x[i], slow.cells[i].x) << where;
      ASSERT_EQ(fast.world().cells.y[i], slow.cells[i].y) << where;
      ASSERT_EQ(fast.world().cells.marked[i] != 0, slow.cells[i].marked) << where;
    }
    ASSERT_NO_FATAL_FAILURE(expect_forest(fast.world(), where));
  }

  void compare_rewards(const std::string& where) {
    const DurotaxisReward& reward = fast.reward();
    const std::map<std::string, double> found = {{"total", reward.total},
                                                 {"graph", reward.graph},
                                                 {"spawn", reward.spawn},
                                                 {"delete", reward.deletion},
                                                 {"efficiency", reward.efficiency},
                                                 {"edge", reward.edge},
                                                 {"centroid_reward", reward.centroid},
                                                 {"milestone", reward.milestone},
                                                 {"node", reward.node},
                                                 {"survival", reward.survival},
                                                 {"recovery", reward.recovery},
                                                 {"termination", reward.termination}};
    for (const auto& [name, value] : found) {
      ASSERT_TRUE(is_near(value, slow.record[name], 1e-12))
          << where << name << ": " << value << ", expected " << slow.record[name];
    }
    for (const auto& [name, value] : slow.record) ASSERT_TRUE(found.count(name)) << name;
    ASSERT_EQ(reward.cells, static_cast<int>(slow.cells.size())) << where;
  }

  // `tame`: ratios are drawn near one half, so that colonies live long.
  void play(int wanted, bool tame, const std::string& name) {
    for (; episodes < wanted; ++episodes) {
      Rng one(episodes, Purpose::test, 1, 0), two = one;
      fast.array.reset(0, one);
      slow.reset(two);
      ASSERT_NO_FATAL_FAILURE(compare(name));
      std::map<std::string, double> sums;
      double cells = 0;  // of all steps
      for (int t = 1; t <= slow.rules.max_steps; ++t, ++steps) {
        const std::string where =
            name + "episode " + std::to_string(episodes) + " step " + std::to_string(t) + ": ";
        Rng rng(episodes, Purpose::exploration, 0, t);
        Action5 action = random_action(fast.array.spec(), rng);
        if (tame) action[0] = static_cast<float>(rng.uniform(0.4, 0.62));
        fast.steps = t - 1;
        const Step found = fast.step(action);
        Rng drawn(11, Purpose::test, 0, t);
        const Step expected = slow.step(action, drawn);
        ASSERT_EQ(found.reward, expected.reward) << where;
        ASSERT_EQ(found.terminated, expected.terminated) << where;
        ASSERT_NO_FATAL_FAILURE(compare_rewards(where));
        ASSERT_NO_FATAL_FAILURE(compare(where));
        for (const auto& [part, value] : slow.record) sums[part] += value;
        cells += static_cast<double>(slow.cells.size());
        for (const auto& cell : slow.cells) marked += cell.marked;
        most = std::max(most, fast.world().count);
        stiffer += fast.reward().spawn > -fast.world().spawned;
        retreats += fast.reward().termination == -50;
        if (found.terminated) break;
      }
      ASSERT_EQ(fast.measure("success") == 1, slow.succeeded) << name;
      // The record of the episode: all entries but the return are measures.
      for (const auto& [part, value] : sums) {
        if (part == "total") continue;
        ASSERT_TRUE(is_near(fast.measure(part.c_str()), value, 1e-5)) << name << part;
      }
      ASSERT_TRUE(is_near(fast.measure("cell_reward"), cells > 0 ? sums["node"] / cells : 0, 1e-5))
          << name;
      successes += slow.succeeded;
      deaths += slow.cells.empty();
      recoveries += slow.recoveries;
    }
  }
};

// 4 x 150 + 8 x 60 = 1,080 episodes in this file.
TEST(DurotaxisTwin, RandomPlayInEveryMode) {
  for (const char* mode : {"normal", "delete", "distance", "combined"}) {
    const EnvOptions options = {{"reward", mode}, {"ratio", "0.7"}};
    Follower follower(options);
    ASSERT_NO_FATAL_FAILURE(follower.play(150, false, name_of(options)));
    EXPECT_GT(follower.steps, 150 * 5);
  }
}

TEST(DurotaxisTwin, LongLives) {
  int marked = 0, successes = 0, deaths = 0, recoveries = 0, most = 0;
  int stiffer = 0, retreats = 0;
  const std::vector<EnvOptions> all = {
      {{"reward", "normal"}, {"ratio", "0.7"}, {"max_steps", "120"}},
      {{"reward", "combined"}, {"ratio", "0.7"}, {"soft_limit", "10"}, {"delta", "off"}},
      {{"reward", "normal"}, {"ratio", "1"}, {"recovery", "on"}, {"cells", "1"}, {"bonus", "on"}},
      {{"reward", "normal"},
       {"substrate", "random"},
       {"ratio", "0.7"},
       {"soft_limit", "8"},
       {"penalty_factor", "2"},
       {"scale", "unit"},
       {"width", "210"}},
      {{"reward", "delete"},
       {"substrate", "exponential"},
       {"ratio", "0.7"},
       {"soft_limit", "12"},
       {"include_termination", "off"},
       {"scale", "unit"},
       {"hard_limit", "30"}},
      {{"reward", "distance"}, {"bonus", "on"}, {"ratio", "0.7"}, {"patience", "2"}},
      {{"stage", "1"}, {"ratio", "0.7"}, {"scale", "unit"}, {"max_steps", "100"}},
      {{"reward", "normal"},
       {"ratio", "1"},
       {"recovery", "on"},
       {"recovery_cells", "1"},
       {"recovery_attempts", "5"},
       {"cells", "2"},
       {"patience", "2"},
       {"width", "300"},
       {"height", "60"},
       {"max_steps", "150"}}};
  for (const EnvOptions& options : all) {
    const bool dies = options[1].second == "1";
    Follower follower(options);
    ASSERT_NO_FATAL_FAILURE(follower.play(60, !dies, name_of(options)));
    marked += follower.marked;
    successes += follower.successes;
    deaths += follower.deaths;
    recoveries += follower.recoveries;
    most = std::max(most, follower.most);
    stiffer += follower.stiffer;
    retreats += follower.retreats;
  }
  EXPECT_GT(marked, 100);
  EXPECT_GT(successes, 20);
  EXPECT_GT(deaths, 5);
  EXPECT_GT(recoveries, 20);
  EXPECT_GT(most, 100);
  EXPECT_GT(stiffer, 20);
  EXPECT_GT(retreats, 0);
}

// Section 18.4.
TEST(DurotaxisTwin, LeftmostEqualsAFullSort) {
  Rng rng(5, Purpose::test, 0, 0);
  std::vector<std::uint8_t> chosen;
  for (int trial = 0; trial < 10000; ++trial) {
    const int n = 1 + static_cast<int>(rng.below(200));
    const bool has_ties = trial % 2 == 1;
    std::vector<float> x(n);
    for (float& value : x) {
      value = static_cast<float>(has_ties ? 6 + rng.below(5) : rng.uniform(-3, 600));
    }
    const int k = static_cast<int>(rng.below(n + 1));
    chosen.assign(n, 7);
    durotaxis_leftmost(x, k, chosen.data());
    std::vector<std::uint8_t> expected(n, 0);
    for (const int i : reference::leftmost(x, k)) expected[i] = 1;
    ASSERT_EQ(chosen, expected) << trial;
  }
}

// Each sum has its own name. The cells of all steps are counted: each has had a reward.
TEST(DurotaxisTwin, RewardsAddUpAsInADictionary) {
  const DurotaxisReward first{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  const DurotaxisReward second{.total = 0.5, .centroid = 20, .termination = -3, .cells = 14};
  DurotaxisReward sums;
  auto record = reference::reward_record(sums);
  for (const DurotaxisReward& step : {first, second, first}) {
    sums += step;
    reference::add_record(reference::reward_record(step), record);
  }
  EXPECT_EQ(reference::reward_record(sums), record);
  EXPECT_EQ(record.at("centroid_reward"), 34);
  EXPECT_EQ(record.at("num_nodes"), 13 + 14 + 13);
}

// Random points, points on a coarse grid with many at the same place or on a line, all on a line.
TEST(DurotaxisTwin, HullEqualsBruteForce) {
  Rng rng(6, Purpose::test, 0, 0);
  for (int trial = 0; trial < 3000; ++trial) {
    const int n = 3 + static_cast<int>(rng.below(40));
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; ++i) {
      x[i] = static_cast<float>(trial % 3 == 0 ? rng.uniform(0, 600) : rng.below(6));
      y[i] = static_cast<float>(trial % 3 == 0 ? rng.uniform(0, 400) : rng.below(5));
      if (trial % 3 == 2) y[i] = 2 * x[i] + 1;
    }
    std::vector<std::int32_t> vertices(n);
    const Hull hull = convex_hull(x, y, vertices);
    std::vector<std::pair<float, float>> points;
    for (int i = 0; i < n; ++i) points.emplace_back(x[i], y[i]);
    std::vector<bool> found(n, false);
    if (hull.count > 2) {
      for (int i = 0; i < hull.count; ++i) found[vertices[i]] = true;
    }
    ASSERT_EQ(found, reference::hull_vertices(points)) << trial;
    ASSERT_NEAR(hull.area, reference::hull_area(points), 1e-6 * (1 + hull.area)) << trial;
  }
}

}  // namespace
}  // namespace hotloop
