#include "study/comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include <hotloop/error.hpp>

#include "draw/table_text.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

constexpr EnvSpec kEnv{.name = "maze", .measures = {"delay", "score", "a", "b", "c"}};

// Episodes with these scores; the delay is defined only in the first.
Evaluation with_scores(const std::vector<float>& scores) {
  Evaluation e;
  for (const float score : scores) {
    PlayedEpisode episode{.total_return = 10.0 * score};
    episode.measures = {e.episodes.empty() ? 7.0f : std::nanf(""), score};
    e.episodes.push_back(episode);
  }
  return e;
}

// Two runs of one spec and a script at two values.
Comparison example() {
  std::vector<Played> played;
  for (const std::string value : {"2", "4"}) {
    played.push_back({{value, "spec", "runs/spec-1", 1}, with_scores({1, 1})});
    played.push_back({{value, "spec", "runs/spec-2", 2}, with_scores({3, 3})});
    played.push_back({{value, "random", "", {}}, with_scores({0.5f, 0.5f})});
  }
  return compare(kEnv, "size", 9, played);
}

TEST(Comparison, HasARowPerRunAndOneForTheirGroup) {
  const Comparison c = example();
  EXPECT_EQ(c.measures, (std::vector<std::string>{"score", "delay", "a", "b", "c", "return"}));
  EXPECT_EQ(c.episodes, 2);
  ASSERT_EQ(c.rows.size(), 8u);
  const ComparedRow& pooled = c.rows[2];
  EXPECT_EQ(pooled.who.policy, "spec");
  EXPECT_EQ(pooled.runs, 2);
  EXPECT_EQ(pooled.episodes, 4);
  EXPECT_EQ(pooled.measures[0].mean, 2);
  EXPECT_EQ(pooled.measures[0].count, 2) << "starts";
  EXPECT_EQ(pooled.measures[1].mean, 7);
  EXPECT_EQ(pooled.measures[1].count, 1) << "a delay in the first episode of either run";
  EXPECT_EQ(pooled.measures[5].mean, 20);
  EXPECT_EQ(c.rows[1].measures[0].mean, 3);
  EXPECT_FALSE(c.rows[1].stands_for_policy);
  EXPECT_TRUE(pooled.stands_for_policy);
  EXPECT_TRUE(c.rows[3].stands_for_policy);
  EXPECT_EQ(c.rows[4].who.value, "4");
}

// Playing the same starts twice adds no information.
TEST(Comparison, AnIdenticalSecondRunDoesNotNarrowTheInterval) {
  const Evaluation e = with_scores({1, 5, 2, 8, 3, 3, 7});
  const Comparison c = compare(kEnv, "", 9, {{{"", "spec", "a", 1}, e}, {{"", "spec", "b", 2}, e}});
  ASSERT_EQ(c.rows.size(), 3u);
  EXPECT_EQ(c.rows[2].measures[0].low, c.rows[0].measures[0].low);
  EXPECT_EQ(c.rows[2].measures[0].high, c.rows[0].measures[0].high);
  EXPECT_LT(c.rows[2].measures[0].low, c.rows[2].measures[0].high);
}

// Only runs that differ just by their seeds are pooled, and no two rows have the same name.
TEST(Comparison, RunsOfTheSameNameWithDifferentSpecsAreDistinguished) {
  const Evaluation e = with_scores({1, 2});
  const auto table = [&](const std::vector<Contestant>& all) {
    std::vector<Played> played;
    for (const Contestant& who : all) played.push_back({who, e});
    return comparison_markdown(compare(kEnv, "", 9, played), 0);
  };
  const std::string two = table({{"", "kd", "runs/kd-2", 1, "ppo", "A"},
                                 {"", "kd", "runs/kd-3", 1, "dqn", "B"},
                                 {"", "kd", "runs/kd-4", 2, "dqn", "B"},
                                 {"", "kd", "", {}}});
  for (const char* row : {"| kd (ppo), seed 1 |", "| kd (dqn), seed 1 |", "| kd (dqn), seed 2 |",
                          "| **kd (dqn)**, 2 runs |", "| kd | 2 |"}) {
    EXPECT_NE(two.find(row), std::string::npos) << row << " in\n" << two;
  }
  EXPECT_EQ(two.find("3 runs"), std::string::npos) << two;
  const std::string same_algorithm = table({{"", "kd", "a/kd-1/", 1, "dqn", "A"},
                                            {"", "kd", "b/kd-1", 1, "dqn", "B"},
                                            {"", "kd", "b/kd-2", 2, "dqn", "B"}});
  for (const char* row : {"| kd (a/kd-1), seed 1 |", "| kd (b/kd-1 and 1 more), seed 2 |",
                          "| **kd (b/kd-1 and 1 more)**, 2 runs |"}) {
    EXPECT_NE(same_algorithm.find(row), std::string::npos) << row << " in\n" << same_algorithm;
  }
  const std::string twice =
      table({{"", "kd", "a/kd-1", 1, "dqn", "A"}, {"", "kd", "a/kd-2", 1, "dqn", "A"}});
  for (const char* row : {"| kd, seed 1 (kd-1) |", "| kd, seed 1 (kd-2) |", "| **kd**, 2 runs |"}) {
    EXPECT_NE(twice.find(row), std::string::npos) << row << " in\n" << twice;
  }
}

TEST(Comparison, TheTableIsNarrow) {
  const std::string all = comparison_markdown(example(), {});
  EXPECT_NE(all.find("| size | policy | episodes | score | delay | a | b | c |\n"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("| size | policy | episodes | return |\n"), std::string::npos) << all;
  const std::string one = comparison_markdown(example(), 0);
  EXPECT_NE(one.find("| size | policy | episodes | score |\n|---|---|---:|---:|\n"
                     "| 2 | spec, seed 1 | 2 | 1.000 |\n"
                     "| 2 | spec, seed 2 | 2 | 3.000 |\n"
                     "| 2 | **spec**, 2 runs | 4 | 2.000 |\n"
                     "| 2 | random | 2 | 0.500 |\n| 4 |"),
            std::string::npos)
      << one;
  EXPECT_EQ(one.find("return"), std::string::npos);
}

TEST(Comparison, CsvIsLong) {
  const std::string csv = comparison_csv(example());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 8 * 6);
  EXPECT_NE(csv.find("\n2,spec,runs/spec-1,1,delay,7,7,7,1\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n4,spec,pooled,,score,2,2,2,2\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n4,random,,,return,5,5,5,2\n"), std::string::npos) << csv;
  EXPECT_EQ(comparison_json(example())["rows"].size(), 8u);
}

TEST(Comparison, TheFigureHasAPointPerPolicyAndValue) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(comparison_figure(example(), 0).c_str()));
  EXPECT_EQ(document.select_nodes("//circle").size(), 4u);
  EXPECT_EQ(document.select_nodes("//text[text()='spec, 2 runs']").size(), 1u);
}

TEST(Comparison, MeasuresAreFoundByName) {
  EXPECT_EQ(find_measure("", kEnv), 0);
  EXPECT_EQ(find_measure("delay", kEnv), 1);
  EXPECT_EQ(find_measure("return", kEnv), 5);
  EXPECT_EQ(find_measure("", EnvSpec{.name = "bare"}), 0);
  EXPECT_EQ(find_measure("", EnvSpec{.name = "no score", .measures = {"delay"}}), 1);
  try {
    find_measure("scor", kEnv);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "--measure: maze has no measure \"scor\"; did you mean score? (allowed: score, delay, a, "
        "b, c, return)");
  }
}

TEST(TableText, Cells) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a, \"b\""), "\"a, \"\"b\"\"\"");
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(kNone), "");
  EXPECT_EQ(cell_number(kNone), "-");
  EXPECT_EQ(cell_number(-79.8), "-79.80");
  EXPECT_EQ(cell_number(1234.5), "1234");
  EXPECT_EQ(interval_text({.mean = 98.5, .low = 9.25, .high = 101, .count = 3}),
            "98.5 [9.2, 101.0]");
  EXPECT_EQ(interval_text({.mean = 5, .low = 5, .high = 5, .count = 3}), "5.000");
  EXPECT_EQ(interval_text({.mean = kNone, .low = kNone, .high = kNone, .count = 0}), "-");
}

}  // namespace
}  // namespace hotloop
