// Text and HTML reports of profiles that real runs rarely give.
#include "profile/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "train/progress.hpp"

namespace hotloop {
namespace {

Profile odd_profile() {
  Profile p;
  p.spec.name = "<odd> & \"quoted\"";
  p.spec.env = "cartpole";
  p.spec.threads = 2;
  p.spec.run.steps = 5000;
  p.wall_seconds = 2;
  p.env_steps = 10'000;
  p.updates = 100;
  p.network = "4-2";
  p.peak_gflops = 100;
  p.allocations_per_step = kNone;
  p.bytes_per_transition = 24;
  p.phases = {{.group = "env", .part = "", .seconds = 1.5, .share = 0.75, .us_per_step = 150},
              {.group = "env", .part = "step", .seconds = 1.5, .share = 0.75, .us_per_step = 150},
              {.group = "unaccounted", .part = "", .seconds = 0.5, .share = 0.25}};
  p.phases[0].p50_us = p.phases[0].p99_us = kNone;
  p.phases[1].us_per_update = 1e-5;
  p.unaccounted_share = 0.25;
  p.threads = {.threads = 2,
               .runs = 10,
               .span_seconds = 1,
               .busy = {0.9, 0.3},
               .imbalance = 0.5,
               .wait_share = 0.125};
  p.trend.known = p.trend.slower = true;
  p.trend.text = "falling 3 % per 10^6 steps";
  p.trend.episode_length = {.first = 10, .last = 200};
  p.trend.longer_episodes = true;
  p.samples = {
      {}, {.seconds = 1, .env_steps = 5000}, {.seconds = 2, .env_steps = 10'000, .episodes = 50}};
  p.warnings = {
      "values <diverge>, which is said in a sentence that is longer than a line of the "
      "terminal and has to be wrapped"};
  p.failure = "non-finite loss";
  return p;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What was done before the profile counts towards the end of the run.
TEST(ProfileText, SaysWhereTheSpecWouldHaveEnded) {
  Profile p = odd_profile();
  p.spec.run.steps = 12'000;
  EXPECT_FALSE(contains(profile_text(p), "past end"));
  p.warm_up.env_steps = 2'001;
  EXPECT_TRUE(contains(profile_text(p), "the spec itself ends after 12000 env steps"));
  p.spec.run.steps = 1'000'000;
  p.spec.run.episodes = 300;
  p.episodes = 250;
  EXPECT_FALSE(contains(profile_text(p), "past end"));
  p.warm_up.episodes = 51;
  EXPECT_TRUE(contains(profile_text(p), "the spec itself ends after 300 episodes"));
}

TEST(ProfileText, FitsAHundredColumnsAndSaysWhatHappened) {
  const std::string text = profile_text(odd_profile());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  for (const char* part :
       {"the spec itself ends after 5000 env steps", "75.0 % of wall time", "busy 90.0 %, 30.0 %",
        "50.0 % above the", "got longer, from 10 to 200 steps; steps got slower too", "falling 3 %",
        "not counted in this build", "non-finite loss", "  step ", "<0.001"}) {
    EXPECT_TRUE(contains(text, part)) << part << " is not in\n" << text;
  }
  EXPECT_FALSE(contains(text, "nan"));
}

TEST(ProfileText, LeavesOutWhatDidNotHappen) {
  Profile p = odd_profile();
  p.spec.run.steps = 1'000'000;
  p.threads.threads = 1;
  p.trend = {};
  p.trend.text = "steady";
  p.warnings.clear();
  p.failure.clear();
  const std::string text = profile_text(p);
  for (const char* part :
       {"itself", "busy", "longer", "slower", "warning", "failure", "excluded"}) {
    EXPECT_FALSE(contains(text, part)) << part << " is in\n" << text;
  }
}

TEST(ProfileJson, WhatIsNotANumberIsNull) {
  const auto json = profile_json(odd_profile());
  EXPECT_TRUE(json["allocations_per_step"].is_null());
  EXPECT_TRUE(json["phases"][0]["p50_us"].is_null());
  EXPECT_EQ(json["phases"][0]["children"][0]["name"], "env/step");
  EXPECT_EQ(json["phases"][1]["children"].size(), 0u);
  EXPECT_EQ(json["failure"], "non-finite loss");
  EXPECT_EQ(json["threads"]["busy"].size(), 2u);
}

TEST(ProfileHtml, IsSelfContainedAndEscaped) {
  const std::string page = profile_html(odd_profile());
  EXPECT_FALSE(contains(page, "<odd>"));
  EXPECT_FALSE(contains(page, "<diverge>"));
  EXPECT_TRUE(contains(page, "&lt;odd&gt; &amp; &quot;quoted&quot;"));
  for (const char* part : {"src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_FALSE(contains(page, part)) << part;
  }
  EXPECT_TRUE(contains(page, "steps per episode"));  // episodes got longer
  EXPECT_TRUE(contains(page, "data-phase=\"env/step\""));
  EXPECT_FALSE(contains(page, "nan%"));
}

}  // namespace
}  // namespace hotloop
