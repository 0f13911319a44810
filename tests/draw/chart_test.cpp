#include "draw/chart.hpp"

#include <gtest/gtest.h>

#include <pugixml.hpp>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

pugi::xml_document parsed(const Chart& chart) {
  pugi::xml_document document;
  const std::string text = draw_chart(chart);
  EXPECT_TRUE(document.load_string(text.c_str())) << text;
  return document;
}

std::size_t count(const pugi::xml_document& document, const char* path) {
  return document.select_nodes(path).size();
}

// The numbers of "x,y x,y ".
std::size_t pairs(const std::string& points) {
  return static_cast<std::size_t>(std::count(points.begin(), points.end(), ','));
}

TEST(Chart, DrawsEveryPointThatIsANumber) {
  ChartPanel panel{.title = "t", .x_label = "x", .y_label = "y", .mark = ChartMark::point};
  panel.categories = {"2", "4", "6"};
  panel.series = {{"a", {{0, 1, 0.5, 1.5}, {1, kNaN, 0, 1}, {2, 3}}},
                  {"b", {{0, 2, 1.5, 2.5}, {1, 2, kNaN, kNaN}, {2, 4, 3, 5}}}};
  const pugi::xml_document document = parsed({"points", {panel}});
  EXPECT_EQ(count(document, "//circle"), 5u);
  // Three intervals, each with a bar and two caps.
  EXPECT_EQ(count(document, "//line[@stroke-width='1.6']"), 9u);
  // Side by side at a category, and once each in the legend.
  const auto discs = document.select_nodes("//circle");
  const double a = discs[0].node().attribute("cx").as_double();
  const double b = discs[2].node().attribute("cx").as_double();
  EXPECT_GT(b - a, 4);
  EXPECT_LT(b - a, 30);
  EXPECT_EQ(count(document, "//text[text()='a']"), 1u);
  EXPECT_EQ(count(document, "//text[text()='6']"), 1u);
}

TEST(Chart, LinesHaveBandsAndLeaveOutPointsThatALogAxisCannotShow) {
  ChartPanel panel{.title = "", .x_label = "seconds", .y_label = "score", .log_x = true};
  panel.series = {{"row", {{0, 1, 0, 2}, {1, 1, 0, 2}, {10, 5, 4, 6}, {100, 6, kNaN, 8}}}};
  ChartPanel plain = panel;
  plain.log_x = false;
  const pugi::xml_document document = parsed({"lines", {panel, plain}});
  const auto lines = document.select_nodes("//polyline");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(pairs(lines[0].node().attribute("points").value()), 3u);
  EXPECT_EQ(pairs(lines[1].node().attribute("points").value()), 4u);
  const auto bands = document.select_nodes("//polygon");
  ASSERT_EQ(bands.size(), 2u);
  EXPECT_EQ(pairs(bands[0].node().attribute("points").value()), 4u);
  EXPECT_EQ(pairs(bands[1].node().attribute("points").value()), 6u);
  EXPECT_STREQ(lines[0].node().attribute("stroke").value(),
               lines[1].node().attribute("stroke").value());
  EXPECT_EQ(count(document, "//text[text()='row']"), 1u) << "one legend for both panels";
}

// Seven small panels, three to a row: their titles are in three rows and three columns, inside the
// picture.
TEST(Chart, PanelsAreInRows) {
  Chart chart{.title = "", .panels = {}, .columns = 3};
  for (int i = 0; i < 7; ++i) {
    ChartPanel panel{.title = "panel" + std::to_string(i)};
    panel.series = {{"s", {{0, 1}, {1, 2}}}};
    chart.panels.push_back(panel);
  }
  const pugi::xml_document document = parsed(chart);
  EXPECT_EQ(count(document, "//polyline"), 7u);
  EXPECT_EQ(count(document, "//text[text()='s']"), 1u);
  const auto place = [&](int i, const char* axis) {
    const std::string path = "//text[text()='panel" + std::to_string(i) + "']";
    return document.select_node(path.c_str()).node().attribute(axis).as_double();
  };
  const double across = place(1, "x") - place(0, "x"), down = place(3, "y") - place(0, "y");
  EXPECT_GT(across, 200);
  EXPECT_GT(down, 100);
  for (int i = 0; i < 7; ++i) {
    EXPECT_NEAR(place(i, "x"), place(0, "x") + across * (i % 3), 0.11) << i;
    EXPECT_NEAR(place(i, "y"), place(0, "y") + down * (i / 3), 0.11) << i;
  }
  const pugi::xml_node svg = document.child("svg");
  EXPECT_NEAR(svg.attribute("width").as_double(), 3 * across, 1);
  EXPECT_GT(svg.attribute("height").as_double(), 3 * down);
}

TEST(Chart, ALineOfOnePointIsVisible) {
  ChartPanel panel;
  panel.series = {{"one", {{1, 2}, {3, kNaN}}}, {"two", {{1, 2}, {2, 3}}}};
  const pugi::xml_document document = parsed({"", {panel}});
  EXPECT_EQ(count(document, "//circle"), 1u);
  EXPECT_EQ(count(document, "//polyline"), 1u);
}

// By hand: decades 0 to 2 over the width of the axes, so that 10 is halfway between 1 and 100.
TEST(Chart, PlacesPointsToScale) {
  ChartPanel panel{.mark = ChartMark::point, .log_x = true};
  panel.series = {{"s", {{1, 0}, {10, 5}, {100, 10}}}};
  const pugi::xml_document document = parsed({"", {panel}});
  const auto discs = document.select_nodes("//circle");
  ASSERT_EQ(discs.size(), 3u);
  const auto at = [&](int i, const char* axis) {
    return discs[i].node().attribute(axis).as_double();
  };
  EXPECT_NEAR(at(1, "cx"), (at(0, "cx") + at(2, "cx")) / 2, 0.11);
  EXPECT_NEAR(at(1, "cy"), (at(0, "cy") + at(2, "cy")) / 2, 0.11);
  EXPECT_LT(at(0, "cx"), at(2, "cx"));
  EXPECT_GT(at(0, "cy"), at(2, "cy")) << "larger values are higher up";
}

TEST(Chart, TextIsEscaped) {
  const std::string wild = "a<b & \"c\" > 'd'\x01";
  ChartPanel panel{.title = wild, .x_label = wild, .y_label = wild, .mark = ChartMark::point};
  panel.categories = {wild};
  panel.series = {{wild, {{0, 1}}}};
  const pugi::xml_document document = parsed({wild, {panel}});
  int found = 0;
  for (const auto& text : document.select_nodes("//text")) {
    found += std::string(text.node().text().get()) == "a<b & \"c\" > 'd' ";
  }
  EXPECT_EQ(found, 6);  // title, panel, two axes, category, legend
}

TEST(Chart, NoValueOrOneValueStillMakesAChart) {
  EXPECT_EQ(count(parsed({"", {ChartPanel{}}}), "//circle"), 0u);
  for (const double y : {0.0, 7.0, -7.0}) {
    ChartPanel panel{.mark = ChartMark::point, .log_x = true};
    panel.series = {{"s", {{5, y}}}};
    const std::string text = draw_chart({"", {panel}});
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
    EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  }
}

TEST(Chart, TicksAreRound) {
  EXPECT_EQ(linear_ticks(0, 100), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(linear_ticks(-3, 12), (std::vector<double>{0, 5, 10}));
  EXPECT_EQ(log_ticks(1, 1000), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(log_ticks(3, 60), (std::vector<double>{5, 10, 20, 50}));
  EXPECT_EQ(log_ticks(10, 30), (std::vector<double>{10, 15, 20, 25, 30}));
  for (double low = 1e-7; low < 1e7; low *= 3.7) {
    for (double ratio = 1.01; ratio < 1e9; ratio *= 2.3) {
      for (const auto& ticks : {linear_ticks(low, low * ratio), log_ticks(low, low * ratio)}) {
        EXPECT_GE(ticks.size(), 2u) << low << " " << ratio;
        EXPECT_LE(ticks.size(), 11u) << low << " " << ratio;
      }
    }
  }
}

TEST(Chart, IsAnSvg) {
  EXPECT_NO_THROW(check_chart_path("a/b.svg"));
  EXPECT_THROW(check_chart_path("b.png"), UsageError);
}

}  // namespace
}  // namespace hotloop
