#include "record/metrics_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <hotloop/rng.hpp>
#include <vector>

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Verdict = Thinning::Verdict;

std::string text_of(const RowMark& mark) {
  const std::string greedy =
      std::isnan(mark.greedy_return) ? "null" : fmt::format("{}", mark.greedy_return);
  return fmt::format(R"({{"env_steps":{},"greedy_return":{},"warnings":[{}]}})", mark.env_steps,
                     greedy, mark.has_warnings ? "\"w\"" : "");
}

std::vector<RowMark> thinned(const std::vector<RowMark>& rows, std::int64_t width) {
  Thinning thinning(width);
  std::vector<RowMark> kept;
  for (const RowMark& row : rows) {
    const Verdict verdict = thinning.next(row);
    if (verdict == Verdict::replace) kept.pop_back();
    if (verdict != Verdict::drop) kept.push_back(row);
  }
  return kept;
}

std::vector<std::int64_t> steps_of(const std::vector<RowMark>& rows) {
  std::vector<std::int64_t> steps;
  for (const RowMark& row : rows) steps.push_back(row.env_steps);
  return steps;
}

// A row at every step that a run might log at, with evaluations that rise and fall.
std::vector<RowMark> random_rows(std::uint64_t seed, int count) {
  Rng rng(seed, Purpose{}, 0, 0);
  std::vector<RowMark> rows;
  double greedy = kNone;
  for (int i = 1; i <= count; ++i) {
    if (rng.below(3) == 0) greedy = rng.below(1000) + i;
    rows.push_back({.env_steps = 100 * i + static_cast<int>(rng.below(50)),
                    .greedy_return = greedy,
                    .has_warnings = rng.below(40) == 0});
  }
  return rows;
}

// By hand: groups of 400 steps.
TEST(Thinning, KeepsFirstRowsNewBestRowsAndWarnings) {
  const std::vector<RowMark> rows = {
      {100, kNone}, {200, 5}, {300, 7},       {350, 7},  // 7 is the best
      {400, 7},     {500, 6}, {600, 6, true},            // a warning
      {700, 8},     {800, 8}, {900, 9},       {1000, 3}, {1200, 3}, {1300, 3}};
  EXPECT_EQ(steps_of(thinned(rows, 400)),
            (std::vector<std::int64_t>{100, 300, 400, 600, 700, 800, 900, 1200}));
}

TEST(Thinning, InSeveralStepsGivesTheSameAsAtOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<RowMark> rows = random_rows(seed, 100);
    const std::vector<RowMark> once = thinned(rows, 1600);
    EXPECT_EQ(steps_of(thinned(thinned(thinned(rows, 200), 800), 1600)), steps_of(once)) << seed;
    EXPECT_EQ(steps_of(thinned(once, 1600)), steps_of(once)) << seed;
  }
}

class MetricsFileTest : public testing::Test {
 protected:
  ~MetricsFileTest() override { fs::remove_all(folder_); }

  std::string text() const { return std::string(read_file(path_).text()); }
  std::int64_t rows_of_file() const {
    const std::string all = text();
    return std::count(all.begin(), all.end(), '\n');
  }
  static RunOptions options(std::int64_t limit) {
    RunOptions options;
    options.log_every = 100;
    options.log_rows = limit;
    return options;
  }
  std::string written_at_once(const std::vector<RowMark>& rows, std::int64_t limit) {
    fs::remove(path_);
    MetricsFile file(path_, options(limit));
    for (const RowMark& row : rows)
      file.add(row, text_of(row), row.env_steps == rows.back().env_steps);
    return text();
  }

  std::string folder_ =
      fs::temp_directory_path() / ("hotloop-metrics-file-" + std::to_string(getpid()) + "-" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
  bool made_ = fs::create_directories(folder_);
  std::string path_ = folder_ + "/metrics.jsonl";
};

TEST_F(MetricsFileTest, KeepsEveryRowUpToTheLimitAndWithoutOne) {
  const std::vector<RowMark> rows = random_rows(1, 99);
  std::string all;
  for (const RowMark& row : rows) all += text_of(row) + "\n";
  EXPECT_EQ(written_at_once(rows, 100), all);
  EXPECT_EQ(written_at_once(rows, 0), all);
}

TEST_F(MetricsFileTest, HasTheRowsOfTheRuleAndTheLastOne) {
  const std::vector<RowMark> rows = random_rows(2, 1000);
  std::vector<RowMark> expected = thinned(rows, 100 << 6);  // 1000 / 2^6 = 15 < 20
  if (expected.back().env_steps != rows.back().env_steps) expected.push_back(rows.back());
  std::string text;
  for (const RowMark& row : expected) text += text_of(row) + "\n";
  EXPECT_EQ(written_at_once(rows, 20), text);
}

// However long the run, and even if every evaluation is the best so far.
TEST_F(MetricsFileTest, StaysBounded) {
  MetricsFile file(path_, options(50));
  std::int64_t most = 0;
  for (int i = 1; i <= 20'000; ++i) {
    const RowMark row{.env_steps = 100 * i, .greedy_return = 1.0 * i};
    file.add(row, text_of(row), false);
    if (i % 97 == 0) most = std::max(most, rows_of_file());
  }
  EXPECT_LE(most, 2 * 50);
  EXPECT_GE(rows_of_file(), 50 / 2);
}

// Killed at random moments and resumed from a checkpoint before: the same bytes in the end.
TEST_F(MetricsFileTest, AKilledRunEndsWithTheSameRows) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<RowMark> rows = random_rows(seed, 500);
    const std::string expected = written_at_once(rows, 16);
    fs::remove(path_);
    Rng rng(seed + 1000, Purpose{}, 0, 0);
    std::size_t saved = 0;  // rows at the checkpoint
    std::uint64_t bytes = 0;
    for (bool done = false; !done;) {
      const std::int64_t env_steps = saved == 0 ? 0 : rows[saved - 1].env_steps;
      MetricsFile file(path_, options(16), env_steps, bytes);
      EXPECT_EQ(file.lost(), 0u);
      const std::size_t next_save = saved + rng.below(80), kill = next_save + rng.below(120);
      for (std::size_t i = saved; i < std::min(kill, rows.size()); ++i) {
        file.add(rows[i], text_of(rows[i]), i + 1 == rows.size());
        if (i + 1 == next_save) saved = next_save, bytes = file.bytes();
      }
      done = kill >= rows.size();
    }
    EXPECT_EQ(text(), expected);
  }
}

// A partial line, rows after the checkpoint and lines that are not rows are cut off.
TEST_F(MetricsFileTest, ContinuesAfterTheLastRowBeforeTheCheckpoint) {
  const std::string two = text_of({.env_steps = 100}) + "\n" + text_of({.env_steps = 200}) + "\n";
  const std::string third = text_of({.env_steps = 300}) + "\n";
  for (const std::string& rest :
       {third, third + "{\"env_st", third + "nonsense\n", std::string()}) {
    write_file_atomically(path_, two + rest);
    const MetricsFile file(path_, options(100), 200, two.size());
    EXPECT_EQ(text(), two);
    EXPECT_EQ(file.lost(), 0u);
  }
  write_file_atomically(path_, two);
  EXPECT_EQ(MetricsFile(path_, options(100), 300, (two + third).size()).lost(), third.size());
  EXPECT_EQ(text(), two);
  fs::remove(path_);
  EXPECT_EQ(MetricsFile(path_, options(100), 200, two.size()).lost(), two.size());
  EXPECT_EQ(text(), "");
}

// A run that has ended and is continued keeps its last row; a smaller limit takes effect at once.
TEST_F(MetricsFileTest, AnEndedRunCanBeContinuedWithAnotherLimit) {
  std::vector<RowMark> rows;
  for (int i = 1; i <= 40; ++i) rows.push_back({.env_steps = 100 * i - 1});
  written_at_once(rows, 10);
  const std::string ended = text();
  EXPECT_NE(ended.find("\"env_steps\":3999"), std::string::npos);
  MetricsFile(path_, options(10), 3999, ended.size());
  EXPECT_EQ(text(), ended);
  MetricsFile(path_, options(2), 3999, ended.size());
  EXPECT_EQ(rows_of_file(), 3);
}

// An object of n members costs n^2 comparisons. Such a row is none of ours, and is cut off.
TEST_F(MetricsFileTest, ARowOfManyKeysIsNotParsed) {
  const std::string good = "{\"env_steps\":100}\n";
  std::string many = "{\"env_steps\":100";
  for (int i = 0; i < 300; ++i) many += ",\"" + std::to_string(i) + "\":0";
  write_file_atomically(path_, good + many + "}\n");
  const MetricsFile file(path_, options(0), 200, good.size());
  EXPECT_EQ(text(), good);
}

TEST_F(MetricsFileTest, AFileThatIsTooLargeCanBeMovedAway) {
  write_file_atomically(path_, "{\"env_steps\":100}\n");
  fs::resize_file(path_, std::uint64_t{1} << 40);
  try {
    const MetricsFile file(path_, options(0), 200, 0);
    ADD_FAILURE() << "accepted";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("move it away"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hotloop
