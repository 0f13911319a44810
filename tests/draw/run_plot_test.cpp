#include "draw/run_plot.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

class RunPlotTest : public testing::Test {
 protected:
  RunPlotTest() { std::filesystem::create_directories(folder_); }
  ~RunPlotTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }

  std::string folder_ = testing::TempDir() + "hotloop_plot_" +
                        testing::UnitTest::GetInstance()->current_test_info()->name();
};

template <class Plot>
std::string complaint(Plot&& plot) {
  try {
    plot();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<std::string> titles(const Chart& chart) {
  std::vector<std::string> result;
  for (const ChartPanel& panel : chart.panels) result.push_back(panel.title);
  return result;
}

std::vector<std::pair<double, double>> points(const ChartSeries& series) {
  std::vector<std::pair<double, double>> result;
  for (const ChartPoint& point : series.points) result.emplace_back(point.x, point.y);
  return result;
}

using Points = std::vector<std::pair<double, double>>;
using Names = std::vector<std::string>;

// An evaluation at 200, repeated in the third row; no entropy; half a row at the end.
constexpr const char* kMetrics =
    R"({"env_steps":100,"updates":1,"seconds":1,"exploring_return":3,"greedy_return":null,"measures":{"score":null},"greedy_measures":{"score":null},"loss":null,"entropy":null,"warnings":[],"time":{"act":1}}
{"env_steps":200,"updates":2,"seconds":2,"exploring_return":4,"greedy_return":9,"measures":{"score":1},"greedy_measures":{"score":5},"loss":0.5,"entropy":null,"warnings":[],"time":{"act":1}}
{"env_steps":300,"updates":3,"seconds":3,"exploring_return":null,"greedy_return":9,"measures":{"score":2},"greedy_measures":{"score":5},"loss":0.25,"entropy":null,"warnings":[],"time":{"act":1}}
{"env_steps":400,"upd)";

TEST_F(RunPlotTest, MetricsShowReturnLossAndMeasures) {
  write("metrics.jsonl", kMetrics);
  const Chart chart = plot_metrics(folder_ + "/", {});
  EXPECT_EQ(titles(chart), (Names{"return", "loss", "score"})) << "there is no entropy";
  EXPECT_TRUE(chart.title.starts_with("hotloop_plot_Metrics")) << chart.title;
  const ChartPanel& returns = chart.panels[0];
  ASSERT_EQ(returns.series.size(), 2u);
  EXPECT_EQ(returns.series[0].name, "exploring");
  EXPECT_EQ(points(returns.series[0]), (Points{{100, 3}, {200, 4}}));
  EXPECT_EQ(returns.series[1].name, "greedy");
  EXPECT_EQ(points(returns.series[1]), (Points{{200, 9}})) << "each evaluation once";
  EXPECT_EQ(points(chart.panels[1].series[0]), (Points{{200, 0.5}, {300, 0.25}}));
  EXPECT_EQ(points(chart.panels[2].series[0]), (Points{{200, 1}, {300, 2}}));
  EXPECT_EQ(points(chart.panels[2].series[1]), (Points{{200, 5}}));
}

// Rows have only the columns of their algorithm.
TEST_F(RunPlotTest, AColumnThatNoRowHasIsLeftOut) {
  std::string rows = kMetrics;
  const std::string entropy = ",\"entropy\":null";
  for (std::size_t at; (at = rows.find(entropy)) != std::string::npos;) {
    rows.erase(at, entropy.size());
  }
  write("metrics.jsonl", rows);
  EXPECT_EQ(titles(plot_metrics(folder_, {})), (Names{"return", "loss", "score"}));
  EXPECT_NE(complaint([&] { plot_metrics(folder_, {"entropy"}); }).find("\"entropy\" is unknown"),
            std::string::npos);
}

TEST_F(RunPlotTest, ShowChoosesByName) {
  write("metrics.jsonl", kMetrics);
  const Chart chart = plot_metrics(folder_, {"score", "updates", "entropy"});
  EXPECT_EQ(titles(chart), (Names{"score", "updates", "entropy"}));
  EXPECT_EQ(points(chart.panels[1].series[0]), (Points{{100, 1}, {200, 2}, {300, 3}}));
  EXPECT_TRUE(points(chart.panels[2].series[0]).empty());
  EXPECT_NE(complaint([&] {
              plot_metrics(folder_, {"scor"});
            }).find("--show: \"scor\" is unknown; did you mean score? (allowed: return, updates,"),
            std::string::npos);
  EXPECT_NE(complaint([&] { plot_metrics(folder_, {"time"}); }).find("is unknown"),
            std::string::npos);
}

// By hand: returns 0, 1, 2, ... over 60 episodes. After 3 of them the mean is 1 and the std
// sqrt(2/3); after 60 the last 50 are 10 to 59: mean 34.5, std sqrt((50^2 - 1) / 12). Every other
// score is undefined: after 60 the score is the mean of 10, 12, ... 58.
TEST_F(RunPlotTest, EpisodesShowRunningMeanAndStd) {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += fmt::format("{{\"env_steps\":{},\"return\":{},\"length\":7,\"score\":{}}}\n",
                         10 * (i + 1), i, i % 2 == 0 ? std::to_string(i) : "null");
  }
  write("episodes.jsonl", lines + "{\"env_st");
  const Chart chart = plot_episodes(folder_, {});
  EXPECT_EQ(titles(chart), (Names{"return", "length", "score"}));
  const std::vector<ChartPoint>& returns = chart.panels[0].series[0].points;
  ASSERT_EQ(returns.size(), 60u);
  EXPECT_EQ(returns[2].x, 30);
  EXPECT_DOUBLE_EQ(returns[2].y, 1);
  EXPECT_DOUBLE_EQ(returns[2].high, 1 + std::sqrt(2.0 / 3));
  EXPECT_DOUBLE_EQ(returns[59].y, 34.5);
  EXPECT_NEAR(returns[59].y - returns[59].low, std::sqrt((50.0 * 50 - 1) / 12), 1e-9);
  EXPECT_EQ(chart.panels[1].series[0].points[30].low, 7);
  EXPECT_DOUBLE_EQ(chart.panels[2].series[0].points[59].y, 34);
  EXPECT_EQ(titles(plot_episodes(folder_, {"score"})), Names{"score"});
  EXPECT_NE(complaint([&] { plot_episodes(folder_, {"lenght"}); }).find("did you mean length?"),
            std::string::npos);
}

TEST_F(RunPlotTest, ManyRowsAreThinnedAndTheLastIsKept) {
  std::string lines;
  for (int i = 1; i <= 1777; ++i) {
    lines += fmt::format("{{\"env_steps\":{},\"return\":{},\"length\":1}}\n", i, i);
  }
  write("episodes.jsonl", lines);
  const Chart chart = plot_episodes(folder_, {"return"});
  const std::vector<ChartPoint>& returns = chart.panels[0].series[0].points;
  EXPECT_EQ(returns.size(), 445u);  // every fourth
  EXPECT_EQ(returns.back().x, 1777);
  EXPECT_DOUBLE_EQ(returns.back().y, 1752.5);
}

TEST_F(RunPlotTest, MissingAndForeignFilesAreNamed) {
  const auto metrics = [&] { plot_metrics(folder_, {}); };
  const auto episodes = [&] { plot_episodes(folder_, {}); };
  EXPECT_THROW(metrics(), UsageError);
  EXPECT_NE(complaint(episodes).find("run.episode_log=true"), std::string::npos);
  write("metrics.jsonl", "");
  EXPECT_NE(complaint(metrics).find("has no rows yet"), std::string::npos);
  write("episodes.jsonl", "{\"env_steps\":1,\"return\":1}\nnonsense\n");
  EXPECT_NE(complaint(episodes).find("episodes.jsonl:2: not a row"), std::string::npos);
}

// Each row has a column of its own: the memory that it takes must not grow with rows times columns.
TEST_F(RunPlotTest, FilesWithTooManyColumnsAreRefused) {
  std::string rows, one;
  for (int i = 0; i < 300; ++i) {
    rows += fmt::format("{{\"env_steps\":{},\"c{}\":1}}\n", i, i);
    one += fmt::format(",\"c{}\":1", i);
  }
  write("episodes.jsonl", rows);
  const std::string place = folder_ + "/episodes.jsonl:";
  EXPECT_EQ(complaint([&] { plot_episodes(folder_, {}); }), place + "257: more than 256 columns");
  write("episodes.jsonl", "{\"env_steps\":1" + one + "}\n");
  EXPECT_EQ(complaint([&] { plot_episodes(folder_, {}); }), place + "1: not a row with env_steps");
}

}  // namespace
}  // namespace hotloop
