#include "record/learning_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "session/session.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

class LearningCurveTest : public testing::Test {
 protected:
  ~LearningCurveTest() override { std::remove(path_.c_str()); }

  LearningCurve read(const std::string& rows, const std::string& y) {
    write_file_atomically(path_, rows);
    return read_learning_curve(path_, y);
  }

  std::string path_ = testing::TempDir() + "hotloop_curve_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

// Evaluations after 200 and 400 env steps; the second has the score of the first, and the third is
// undefined.
constexpr const char* kRows =
    R"({"env_steps":100,"updates":0,"seconds":0.5,"greedy_return":null,"greedy_measures":{"score":null}}
{"env_steps":200,"updates":10,"seconds":1.0,"greedy_return":5,"greedy_measures":{"score":2}}
{"env_steps":300,"updates":20,"seconds":1.5,"greedy_return":5,"greedy_measures":{"score":2}}
{"env_steps":400,"updates":30,"seconds":2.0,"greedy_return":7,"greedy_measures":{"score":2}}
{"env_steps":500,"updates":40,"seconds":5,"greedy_return":8,"greedy_measures":{"score":null},"time":{"evaluate":0.5}}
{"env_steps":600,"updates":50,"seconds":3.0,"greedy_return":8,"greedy_measures":{"score":null}}
)";

TEST_F(LearningCurveTest, HasEachEvaluationOnce) {
  const LearningCurve returns = read(kRows, "return");
  ASSERT_EQ(returns.points.size(), 3u);
  EXPECT_EQ(returns.points[0].y, 5);
  EXPECT_EQ(returns.points[0].env_steps, 200);
  EXPECT_EQ(returns.points[1].updates, 30);
  EXPECT_EQ(returns.points[2].seconds, 2.5);
  EXPECT_EQ(returns.end_updates, 50);
  EXPECT_EQ(returns.end_seconds, 3);
  const LearningCurve scores = read(kRows, "score");
  ASSERT_EQ(scores.points.size(), 2u);
  EXPECT_EQ(scores.points[1].env_steps, 400);
  EXPECT_EQ(scores.points[1].y, 2);
  EXPECT_TRUE(read(kRows, "speed").points.empty());
}

// The second session spends nearly all of its time on evaluations.
TEST_F(LearningCurveTest, TrainingTimeContinuesAfterAResume) {
  const std::string folder = path_ + "_runs";
  std::filesystem::create_directories(folder);
  TrainSpec spec = small_spec();
  spec.env = "mountaincar";  // no short episodes
  spec.run.steps = 40'000;
  spec.run.log_every = 10'000;
  spec.evaluation.every = 20'000;
  const std::string run = make_run_folder(folder, "run");
  start_run(spec, run, {});
  const std::string metrics = run + "/metrics.jsonl";
  const double before = read_learning_curve(metrics, "return").end_seconds;
  const std::vector<std::string> more = {"run.steps=41000", "evaluation.every=100",
                                         "evaluation.episodes=1000"};
  resume_run(load_run_spec(run, more), run, std::nullopt, {});
  const double after = read_learning_curve(metrics, "return").end_seconds;
  EXPECT_GT(after, before);
  std::filesystem::remove_all(folder);
}

TEST_F(LearningCurveTest, WithoutMetricsIsEmptyAndForeignLinesAreNamed) {
  EXPECT_TRUE(read_learning_curve(path_ + ".none", "return").points.empty());
  EXPECT_TRUE(read("", "return").points.empty());
  for (const char* line : {"nonsense\n", "{}\n", "{\"env_steps\":\"many\"}\n"}) {
    try {
      read(std::string(kRows) + line, "return");
      FAIL() << line;
    } catch (const RunError& error) {
      EXPECT_NE(std::string(error.what()).find(":7: not a row of metrics"), std::string::npos);
    }
  }
}

// Three runs, by hand:
//   updates    10  20  30  40  60
//   first       1       5            ends at 40
//   second          2       6        ends at 50
//   third       3           9   4    ends at 60
std::vector<LearningCurve> three_runs() {
  std::vector<LearningCurve> curves(3);
  curves[0] = {1, {{0, 10, 1, 1}, {0, 30, 3, 5}}, 40, 4};
  curves[1] = {2, {{0, 20, 2, 2}, {0, 40, 4, 6}}, 50, 5};
  curves[2] = {3, {{0, 10, 1, 3}, {0, 40, 4, 9}, {0, 60, 6, 4}}, 60, 6};
  return curves;
}

TEST(MedianCurve, StartsWhereAllRunsHaveAValue) {
  const std::vector<LearningCurve> curves = three_runs();
  const std::vector<double> grid = every_x(curves, CurveAxis::updates);
  EXPECT_EQ(grid, (std::vector<double>{20, 30, 40, 60}));
  EXPECT_EQ(every_x(curves, CurveAxis::seconds), (std::vector<double>{2, 3, 4, 6}));
  const std::vector<MedianPoint> median = median_curve(curves, CurveAxis::updates, grid);
  const std::vector<std::vector<double>> expected = {{2, 1, 3}, {3, 2, 5}, {6, 5, 9}, {5, 4, 6}};
  ASSERT_EQ(median.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(median[i].x, grid[i]);
    EXPECT_EQ((std::vector<double>{median[i].median, median[i].low, median[i].high}), expected[i]);
  }
  EXPECT_EQ(first_reached(median, 2.5), 30);
  EXPECT_EQ(first_reached(median, 6), 40);
  EXPECT_TRUE(std::isnan(first_reached(median, 6.1)));
}

TEST(MedianCurve, EvenStepsEndWhereTheLastRunDoes) {
  std::vector<LearningCurve> curves = three_runs();
  curves[0].end_updates = 320;
  const std::vector<double> grid = even_x(curves, CurveAxis::updates, 4);
  ASSERT_EQ(grid.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(grid[i], 20 * std::pow(2, i), 1e-9);
  EXPECT_EQ(median_curve(curves, CurveAxis::updates, grid).back().median, 5);
}

TEST(MedianCurve, IsEmptyForRunsWithoutPoints) {
  std::vector<LearningCurve> curves = three_runs();
  curves[1].points.clear();
  EXPECT_TRUE(every_x(curves, CurveAxis::seconds).empty());
  EXPECT_TRUE(even_x(curves, CurveAxis::seconds, 5).empty());
  EXPECT_TRUE(median_curve(curves, CurveAxis::seconds, {1, 2}).empty());
  EXPECT_TRUE(every_x({}, CurveAxis::seconds).empty());
}

TEST(MedianCurve, AnEvaluationBeforeTheFirstUpdateIsNotOnALogarithmicGrid) {
  const std::vector<LearningCurve> curves = {{1, {{100, 0, 1, 2}, {200, 8, 2, 3}}, 8, 2}};
  EXPECT_EQ(every_x(curves, CurveAxis::updates), (std::vector<double>{0, 8}));
  EXPECT_EQ(even_x(curves, CurveAxis::updates, 10), (std::vector<double>{8}));
}

// An object of n members costs n^2 comparisons.
TEST_F(LearningCurveTest, ARowOfManyKeysIsRefused) {
  std::string row = R"({"env_steps":1,"updates":0,"seconds":0.5,"greedy_return":5)";
  EXPECT_EQ(read(row + "}\n", "return").points.size(), 1u);
  for (int i = 0; i < 300; ++i) row += ",\"" + std::to_string(i) + "\":0";
  EXPECT_THROW(read(row + "}\n", "return"), RunError);
}

}  // namespace
}  // namespace hotloop
