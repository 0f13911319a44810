#include "run/suite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "run/trainer.hpp"
#include "tests/run/small_spec.hpp"

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
    EXPECT_EQ(suite.seeds, 10) << info.name;
    EXPECT_GE(suite.rows.size(), 5u) << info.name;
    for (const SuiteRow& row : suite.rows) EXPECT_FALSE(std::isnan(row.bar)) << row.title;
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
  EXPECT_NE(complaint("seeds: ten\n" + row + "}]").find("seeds: expected a whole number"),
            std::string::npos);
  EXPECT_NE(complaint(row + ", set: run.steps=5}]").find("set: expected a list"),
            std::string::npos);
  EXPECT_NE(complaint(row + ", bar: high}]").find("bar: expected a number"), std::string::npos);
  EXPECT_NE(complaint(row + ", set: [algo.bach=5]}]").find("s.yaml:1: --set"), std::string::npos);
  EXPECT_THROW(load_suite("clasic"), UsageError);
  EXPECT_THROW(load_suite(folder_), UsageError);
}

// Runs every row and seed once, the same results one at a time or two, and reports the medians.
TEST_F(SuiteTest, RunsEverySeedAndReportsMedians) {
  Suite suite{.name = "tiny", .about = "", .seeds = 3, .rows = {}};
  TrainSpec spec = small_spec();
  suite.rows.push_back({.title = "first row", .spec = spec, .bar = 5});
  spec.name = "other";
  spec.q.double_q = true;
  suite.rows.push_back({.title = "second row", .spec = spec, .bar = 1e9});
  int reported = 0;
  SuiteOptions options;
  options.out = folder_;
  options.on_result = [&](const SuiteRow&, const TrainResult&) { ++reported; };
  const SuiteResults one = run_suite(suite, options);
  options.jobs = 2;
  const SuiteResults two = run_suite(suite, options);
  EXPECT_EQ(reported, 12);
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(one[row][i].seed, i + 1);
      EXPECT_EQ(one[row][i].params_hash, two[row][i].params_hash);
    }
  }
  EXPECT_NE(one[0][0].params_hash, one[1][0].params_hash);
  // A run that fails is named and does not take the others with it.
  suite.rows[0].spec.q.learning_rate = constant(1e6);
  suite.rows[0].spec.q.loss = Loss::mse;
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
  EXPECT_NE(suite_markdown(suite, partly, 1).find("| 0.5 | - | - |"), std::string::npos);

  const std::string table = suite_markdown(suite, one, 1);
  EXPECT_NE(table.find("| first row | `small` | 2800 | 0.5 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| 5: 3 of 3 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| 1e+09: 0 of 3 |"), std::string::npos) << table;
}

}  // namespace
}  // namespace hotloop
