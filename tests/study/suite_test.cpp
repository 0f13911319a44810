#include "study/suite.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <pugixml.hpp>
#include <set>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "tests/train/small_spec.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class SuiteTest : public testing::Test {
 protected:
  SuiteTest() { fs::create_directories(folder_); }
  ~SuiteTest() override { fs::remove_all(folder_); }

  std::string complaint(const std::string& text) {
    const std::string path = folder_ + "/s.yaml";
    write_file_atomically(path, text);
    try {
      load_suite(path);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string folder_ = testing::TempDir() + "hotloop_suite_" +
                        testing::UnitTest::GetInstance()->current_test_info()->name();
};

// Every ready-made suite names specs that exist and can run.
TEST_F(SuiteTest, ReadyMadeSuitesAreRight) {
  ASSERT_GE(ready_made_suites().size(), 2u);
  for (const SpecInfo& info : ready_made_suites()) {
    const Suite suite = load_suite(info.name);
    EXPECT_GE(suite.seeds, 5) << info.name;
    EXPECT_GE(suite.rows.size(), 5u) << info.name;
    std::set<std::string> names;
    for (const SuiteRow& row : suite.rows) {
      // Without a threshold, rows are compared with each other by their scores.
      EXPECT_TRUE(!std::isnan(row.bar) || suite.figure_y == "score") << row.title;
      EXPECT_TRUE(names.insert(row.run_name()).second) << row.title;
    }
  }
}

TEST_F(SuiteTest, BadSuitesAreNamed) {
  EXPECT_NE(complaint("rowz: []").find("did you mean rows?"), std::string::npos);
  EXPECT_NE(complaint("seeds: 3").find("rows: missing, empty or not a list"), std::string::npos);
  EXPECT_NE(complaint("rows: [{spec: cartpole_dnq}]").find("did you mean cartpole_dqn?"),
            std::string::npos);
  EXPECT_NE(complaint("rows: [{title: x}]").find("spec"), std::string::npos);
  EXPECT_NE(complaint("rows: [{spec: cartpole_dqn, sett: []}]").find("did you mean set?"),
            std::string::npos);
  EXPECT_NE(complaint("seeds: 0\nrows: [{spec: cartpole_dqn}]").find("seeds"), std::string::npos);
  const std::string row = "rows: [{spec: cartpole_dqn";
  EXPECT_NE(complaint("seeds: ten\n" + row + "}]").find("seeds: expected an integer"),
            std::string::npos);
  EXPECT_NE(complaint(row + ", set: run.steps=5}]").find("set: expected a list"),
            std::string::npos);
  EXPECT_NE(complaint(row + ", bar: high}]").find("bar: expected a number"), std::string::npos);
  EXPECT_NE(complaint(row + ", set: [algo.bach=5]}]").find("s.yaml:1: --set"), std::string::npos);
  const std::string rows = row + "}]\n";
  EXPECT_NE(complaint(rows + "figure: score").find("expected a mapping"), std::string::npos);
  EXPECT_NE(complaint(rows + "figure: {x: score}").find("s.yaml:2: x: unknown key; "),
            std::string::npos);
  EXPECT_NE(complaint(rows + "figure: {y: scor}")
                .find("s.yaml:2: figure.y: found \"scor\"; did you mean score?"),
            std::string::npos);
  EXPECT_NE(complaint(rows + "figure: {}").find("figure.y: found \"\"; allowed: score, return"),
            std::string::npos);
  EXPECT_NE(
      complaint(rows + "figure: {y: score}").find("cartpole has no score (row \"cartpole_dqn\")"),
      std::string::npos);
  EXPECT_EQ(complaint(rows + "figure: {y: return}"), "accepted");
  EXPECT_THROW(load_suite("clasic"), UsageError);
  EXPECT_THROW(load_suite(folder_), UsageError);
}

TEST_F(SuiteTest, CurvesShowTheScoreIfEveryRowKeepsOne) {
  const std::string path = folder_ + "/s.yaml";
  const auto figure_y = [&](const std::string& text) {
    write_file_atomically(path, text);
    return load_suite(path).figure_y;
  };
  EXPECT_EQ(figure_y("rows: [{spec: snake_dqn_basic}]"), "score");
  EXPECT_EQ(figure_y("figure: {y: return}\nrows: [{spec: snake_dqn_basic}]"), "return");
  EXPECT_EQ(figure_y("rows: [{spec: snake_dqn_basic}, {spec: cartpole_dqn}]"), "return");
}

// `algo` works like `train --algo`: it selects the algorithm's general settings.
TEST_F(SuiteTest, AWorldMayBeGivenAnAlgorithm) {
  const std::string path = folder_ + "/s.yaml";
  write_file_atomically(path,
                        "spec: cartpole\nalgo: ppo\nrows:\n"
                        "  - {title: a, set: [optimiser.learning_rate=0.001]}\n"
                        "  - {title: b, algo: sarsa}\n");
  const Suite suite = load_suite(path);
  EXPECT_EQ(suite.rows[0].spec.algorithm->name(), "ppo");
  EXPECT_EQ(suite.rows[1].spec.algorithm->name(), "sarsa");
  EXPECT_EQ(to_yaml(suite.rows[1].spec),
            to_yaml(load_world_spec("cartpole", &find_algorithm("sarsa"))));
  EXPECT_NE(complaint("rows: [{spec: cartpole, algo: pqo}]").find("s.yaml:1: --algo pqo: unknown"),
            std::string::npos);
  EXPECT_NE(complaint("rows: [{spec: cartpole_dqn, algo: ppo}]")
                .find("is a spec, which already names its algorithm"),
            std::string::npos);
  // A file is searched for next to the suite.
  write_file_atomically(folder_ + "/mine.yaml", "env: {name: cartpole}\nalgo: {batch: 48}\n");
  write_file_atomically(path, "rows: [{spec: mine.yaml}]");
  EXPECT_EQ(load_suite(path).rows[0].spec.learn.batch, 48);
}

// Two rows of two seeds on hand-written metrics. The medians of the final scores are 19.5 and 10,
// so "good" is 18.525: the slow row reaches it when its median goes from 5 to 19.5, the other
// never.
TEST_F(SuiteTest, ReportsScoresAndWhenTheyWereGood) {
  Suite suite{.name = "s", .about = "", .seeds = 2, .figure_y = "score", .rows = {}};
  TrainSpec spec = load_spec("snake_dqn_basic");
  spec.run.steps = 400;
  suite.rows.push_back({.title = "slow, good", .spec = spec, .bar = kNone});
  suite.rows.push_back({.title = "fast", .spec = spec, .bar = kNone});
  SuiteResults results(2, std::vector<TrainResult>(2));
  const double finals[2][2] = {{19, 20}, {10, 10}};
  for (int row = 0; row < 2; ++row) {
    for (int seed = 0; seed < 2; ++seed) {
      TrainResult& r = results[row][seed];
      r.run_dir = fmt::format("{}/{}-{}", folder_, row, seed);
      r.seed = seed + 1;
      r.updates = 100 + 10 * seed;
      r.eval_return_mean = 2 * finals[row][seed];
      r.score_greedy = finals[row][seed];
      fs::create_directories(r.run_dir);
      std::string rows;
      for (int i = 1; i <= 4; ++i) {
        rows += fmt::format(
            R"({{"env_steps":{},"updates":{},"seconds":{},"greedy_return":{},"greedy_measures":{{"score":{}}}}})"
            "\n",
            100 * i, 25 * i + seed, 0.5 * i + 0.25 * seed, i, i < 3 ? 5 : finals[row][seed]);
      }
      write_file_atomically(r.run_dir + "/metrics.jsonl", rows);
    }
  }
  const SuiteCurves curves = suite_curves(suite, results);
  const std::string table = suite_markdown(suite, results, curves, 1);
  // Threshold, solved, good after seconds (the third row of the second seed) and updates.
  EXPECT_NE(table.find("| slow, good | `snake_dqn_basic` | 400 | "), std::string::npos) << table;
  EXPECT_NE(
      table.find(
          "| 105 | 39.0 | 38.0 to 40.0 | 0.0 | 19.50 (19.00 to 20.00) | - | - | 1.75 s | 76 |"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("| 10.00 (10.00 to 10.00) | - | - | - | - |"), std::string::npos) << table;

  const std::string csv = suite_csv(suite, curves);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 2 * 4);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "row,seed,env_steps,updates,seconds,score");
  EXPECT_NE(csv.find("\n\"slow, good\",2,300,76,1.75,20\n"), std::string::npos) << csv;

  pugi::xml_document figure;
  ASSERT_TRUE(figure.load_string(suite_figure(suite, curves).c_str()));
  EXPECT_EQ(figure.select_nodes("//polyline").size(), 4u);
  EXPECT_EQ(figure.select_nodes("//polygon").size(), 4u);
}

// Runs every row and seed once, with the same results for one or two jobs, and reports the medians.
TEST_F(SuiteTest, RunsEverySeedAndReportsMedians) {
  Suite suite{.name = "tiny", .about = "", .seeds = 3, .rows = {}};
  TrainSpec spec = small_spec();
  suite.rows.push_back({.title = "first row", .spec = spec, .bar = 5});
  spec.name = "other";
  dqn(spec).double_q = true;
  suite.rows.push_back({.title = "second row", .spec = spec, .bar = 1e9});
  int reported = 0;
  SuiteOptions options;
  options.out = folder_;
  options.on_result = [&](const SuiteRow&, const TrainResult&) { ++reported; };
  const SuiteResults one = run_suite(suite, options);
  options.jobs = 2;
  options.out = folder_ + "/two";
  const SuiteResults two = run_suite(suite, options);
  EXPECT_EQ(reported, 12);
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(one[row][i].seed, i + 1);
      EXPECT_EQ(one[row][i].params_hash, two[row][i].params_hash);
    }
  }
  EXPECT_NE(one[0][0].params_hash, one[1][0].params_hash);
  // A failing run is named and does not stop the others.
  suite.rows[0].spec.optimiser.learning_rate = constant(1e6);
  dqn(suite.rows[0].spec).loss = Loss::mse;
  suite.rows[0].spec.optimiser.kind = OptimiserKind::sgd;
  int failed = 0;
  options.on_failure = [&](const SuiteRow& row, std::uint64_t, const std::string& what) {
    EXPECT_EQ(row.title, "first row");
    EXPECT_NE(what.find("non-finite"), std::string::npos);
    ++failed;
  };
  const SuiteResults partly = run_suite(suite, options);
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(partly[1][2].params_hash, one[1][2].params_hash);
  EXPECT_NE(suite_markdown(suite, partly, suite_curves(suite, partly), 1).find("| 0.5 | - | - |"),
            std::string::npos);

  const std::string table = suite_markdown(suite, one, suite_curves(suite, one), 1);
  EXPECT_NE(table.find("| first row | `small` | 2800 | 0.5 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| 5: 3 of 3 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| 1e+09: 0 of 3 |"), std::string::npos) << table;
}

// Finished runs are used as they are, unfinished ones are resumed, and runs of another spec are
// ignored.
TEST_F(SuiteTest, ContinuesFromExistingRuns) {
  Suite suite{.name = "tiny", .about = "", .seeds = 2, .rows = {}};
  suite.rows.push_back({.title = "row", .spec = small_spec(), .bar = 5});
  SuiteOptions options;
  options.out = folder_;
  std::vector<std::pair<int, int>> earlier;
  options.on_earlier = [&](int finished, int unfinished) {
    earlier.emplace_back(finished, unfinished);
  };
  int reported = 0;
  options.on_result = [&](const SuiteRow&, const TrainResult&) { ++reported; };
  const SuiteResults first = run_suite(suite, options);
  EXPECT_TRUE(earlier.empty());
  // The second run looks as if it was killed at its end; a third seed is new.
  fs::remove(first[0][1].run_dir + "/result.json");
  suite.seeds = 3;
  const SuiteResults second = run_suite(suite, options);
  EXPECT_EQ(earlier, (std::vector<std::pair<int, int>>{{1, 1}}));
  EXPECT_EQ(reported, 2 + 3);
  for (int seed = 0; seed < 2; ++seed) {
    EXPECT_EQ(second[0][seed].run_dir, first[0][seed].run_dir);
    EXPECT_EQ(second[0][seed].params_hash, first[0][seed].params_hash);
  }
  EXPECT_EQ(to_json(second[0][0]), to_json(first[0][0])) << "read back completely";
  EXPECT_EQ(second[0][2].run_dir, folder_ + "/tiny/row-3");
  // Another spec with the same title.
  dqn(suite.rows[0].spec).double_q = true;
  const SuiteResults third = run_suite(suite, options);
  EXPECT_EQ(earlier.size(), 1u);
  EXPECT_EQ(third[0][0].run_dir, folder_ + "/tiny/row-4");
  // Two equal rows do not share their runs.
  suite.rows.push_back(suite.rows[0]);
  const SuiteResults equal = run_suite(suite, options);
  EXPECT_EQ(earlier.back(), (std::pair{3, 0}));
  EXPECT_NE(equal[0][0].run_dir, equal[1][0].run_dir);
}

}  // namespace
}  // namespace hotloop
