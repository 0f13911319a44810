#include "profile/trend.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace hotloop {
namespace {

// 64 windows of 1,000 steps and 20 episodes; `us_per_step` gives the time of each phase.
struct Course {
  int windows = 64;
  std::function<double(Phase, double)> us_per_step;  // share of the run so far -> us
  std::function<double(double)> episode_length = [](double) { return 50.0; };
  std::function<std::int64_t(int)> resident = [](int) { return std::int64_t{100} << 20; };

  std::vector<Sample> samples() const {
    std::vector<Sample> all = {{.resident_bytes = resident(0)}};
    double episodes = 0;
    for (int i = 0; i < windows; ++i) {
      Sample next = all.back();
      const double share = static_cast<double>(i) / (windows - 1);
      next.env_steps += 1000;
      episodes += 1000 / episode_length(share);
      next.episodes = static_cast<std::int64_t>(episodes);
      next.resident_bytes = resident(i + 1);
      for (std::size_t p = 0; p < kPhaseCount; ++p) {
        const double seconds = 1e-3 * us_per_step(static_cast<Phase>(p), share);
        next.phases[p] += seconds;
        next.seconds += seconds;
      }
      all.push_back(next);
    }
    return all;
  }
};

// 10 us per step.
double usual(Phase phase) {
  switch (phase) {
    case Phase::act_forward:
      return 1;
    case Phase::env_step:
      return 2;
    case Phase::env_observe:
      return 1;
    case Phase::memory_gather:
      return 1;
    case Phase::learn_forward:
      return 2;
    case Phase::learn_backward:
      return 3;
    default:
      return 0;
  }
}

TEST(RobustSlope, OneOutlierChangesNothing) {
  // Of the ten slopes between pairs, six are 1; the four with the last point are larger.
  const Slope s = robust_slope({1, 2, 3, 4, 5}, {1, 2, 3, 4, 100});
  EXPECT_DOUBLE_EQ(s.per_x, 1);
  EXPECT_DOUBLE_EQ(s.first, 1);
  EXPECT_DOUBLE_EQ(s.last, 5);
  // All ten pairs rise: 10 / sqrt(5 * 4 * 15 / 18).
  EXPECT_NEAR(s.z, 2.449490, 1e-6);
}

TEST(RobustSlope, WorkedByHand) {
  // Slopes -2 -1 -1/2 1/4 2/3 | 1 1 1 2 3: the median is 5/6. The levels y - 5/6 x are 3, 1/6, 1/3,
  // 5/2, 2/3: the median is 2/3. Seven pairs rise, three fall: 4 / sqrt(50 / 3).
  const Slope s = robust_slope({0, 1, 2, 3, 4}, {3, 1, 2, 5, 4});
  EXPECT_NEAR(s.per_x, 5.0 / 6, 1e-12);
  EXPECT_NEAR(s.first, 2.0 / 3, 1e-12);
  EXPECT_NEAR(s.last, 4, 1e-12);
  EXPECT_NEAR(s.z, 0.979796, 1e-6);
}

TEST(RobustSlope, UnevenStepsAndTies) {
  // Slopes 0, 1/2, 2/3 (0 to 4, 1 to 4, 0 to 1): two pairs rise, one is level: 2 / sqrt(3 * 2 * 11
  // / 18).
  const Slope s = robust_slope({0, 1, 4}, {1, 1, 3});
  EXPECT_NEAR(s.per_x, 0.5, 1e-12);
  EXPECT_NEAR(s.z, 1.044466, 1e-6);
  const Slope level = robust_slope({1, 2, 3}, {7, 7, 7});
  EXPECT_EQ(level.per_x, 0);
  EXPECT_EQ(level.first, 7);
  EXPECT_EQ(level.z, 0);
  EXPECT_EQ(robust_slope({}, {}).z, 0);
  EXPECT_EQ(robust_slope({1}, {1}).z, 0);
}

TEST(Trend, NoiseAndSpikesAreSteady) {
  for (int seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    const Course course{.us_per_step = [&](Phase p, double) {
      const double spike = uniform(random) < 0.1 ? 20 : 1;
      return usual(p) * spike * (0.9 + 0.2 * uniform(random));
    }};
    const Trend trend = find_trend(course.samples());
    EXPECT_TRUE(trend.known);
    EXPECT_EQ(trend.text, "steady");
    EXPECT_FALSE(trend.longer_episodes || trend.growing_memory);
  }
}

TEST(Trend, FallsBecauseOfOnePhase) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.9, 1.1);
  const Course course{.us_per_step = [&](Phase p, double share) {
    return usual(p) * uniform(random) * (p == Phase::env_step ? 1 + 2 * share : 1);
  }};
  const Trend trend = find_trend(course.samples());
  EXPECT_TRUE(trend.slower);
  EXPECT_FALSE(trend.faster);
  EXPECT_EQ(trend.because, "env/step");
  EXPECT_NEAR(trend.because_first, 2, 0.3);
  EXPECT_NEAR(trend.because_last, 6, 0.6);
  EXPECT_NEAR(trend.us_per_step.first, 10, 0.5);
  EXPECT_NEAR(trend.us_per_step.last, 14, 0.7);
  // 64,000 steps say nothing about a million.
  EXPECT_NE(trend.text.find("during the profile because env/step grew from "), std::string::npos)
      << trend.text;
}

TEST(Trend, SaysHowMuchPerMillionStepsIfItSawEnough) {
  Course course{.windows = 640, .us_per_step = [](Phase p, double share) {
                  return usual(p) * (p == Phase::learn_backward ? 1 + share : 1);
                }};
  // 10 us rise by 3 in 640,000 steps, so to 14.69 in a million: 1 - 10 / 14.69 = 32 %.
  EXPECT_EQ(find_trend(course.samples()).text,
            "falling 32 % per 10^6 steps because learn/backward grew from 3 to 6 us per step");
}

TEST(Trend, ManyPartsOfAGroup) {
  const Course course{.us_per_step = [&](Phase p, double share) {
    const bool is_env = p == Phase::env_step || p == Phase::env_observe || p == Phase::env_check;
    return usual(p) + (is_env ? 2 * share : 0);
  }};
  EXPECT_EQ(find_trend(course.samples()).because, "env");
}

TEST(Trend, ASlowdownOfAllPhasesIsTheMachine) {
  // Backward alone takes 62 % here, and so 62 % of the change, without being its cause.
  const Course course{.us_per_step = [&](Phase p, double share) {
    return (p == Phase::learn_backward ? 12 : usual(p)) * (1 + 0.5 * share);
  }};
  const Trend trend = find_trend(course.samples());
  EXPECT_TRUE(trend.slower);
  EXPECT_EQ(trend.because, "");
  EXPECT_NE(trend.text.find("the machine is busy elsewhere"), std::string::npos) << trend.text;
}

TEST(Trend, WaitingForACpuIsTheMachine) {
  const Course course{.us_per_step = [&](Phase p, double share) {
    return usual(p) * (p == Phase::env_step ? 1 + 2 * share : 1);
  }};
  std::vector<Sample> samples = course.samples();
  EXPECT_EQ(find_trend(samples).because, "env/step");
  // All of the growth was time without a CPU.
  for (Sample& sample : samples) {
    sample.queue_seconds = sample.seconds - 1e-5 * static_cast<double>(sample.env_steps);
  }
  EXPECT_TRUE(find_trend(samples).slower);
  EXPECT_EQ(find_trend(samples).because, "");
}

TEST(Trend, SmallChangesAreNone) {
  const Course course{
      .us_per_step = [&](Phase p, double share) { return usual(p) * (1 + 0.1 * share); }};
  EXPECT_EQ(find_trend(course.samples()).text, "steady");
}

TEST(Trend, Faster) {
  const Course course{.us_per_step = [&](Phase p, double share) {
    return usual(p) * (p == Phase::learn_forward ? 2 - share : 1);
  }};
  const Trend trend = find_trend(course.samples());
  EXPECT_TRUE(trend.faster);
  EXPECT_EQ(trend.because, "learn/forward");
  EXPECT_TRUE(trend.text.starts_with("rising by ")) << trend.text;
}

TEST(Trend, EvaluationAndLogsDoNotCount) {
  const Course course{.us_per_step = [&](Phase p, double share) {
    const bool is_aside = p == Phase::evaluate || p == Phase::log || p == Phase::checkpoint;
    return usual(p) + (is_aside ? 20 * share : 0);
  }};
  EXPECT_EQ(find_trend(course.samples()).text, "steady");
}

TEST(Trend, LongerEpisodesAreNotSlowerSteps) {
  const Course course{.us_per_step = [](Phase p, double) { return usual(p); },
                      .episode_length = [](double share) { return 20 + 60 * share; }};
  const Trend trend = find_trend(course.samples());
  EXPECT_TRUE(trend.longer_episodes);
  EXPECT_NEAR(trend.episode_length.first, 27.5, 3);  // the middle of the first quarter
  EXPECT_NEAR(trend.episode_length.last, 72.5, 3);
  EXPECT_FALSE(trend.slower);
  EXPECT_EQ(trend.text, "steady");
}

TEST(Trend, MemoryThatGrows) {
  const auto grows = [](const std::function<std::int64_t(int)>& kibibytes) {
    const Course course{.us_per_step = [](Phase p, double) { return usual(p); },
                        .resident = [&](int i) { return kibibytes(i) << 10; }};
    return find_trend(course.samples()).growing_memory;
  };
  EXPECT_TRUE(grows([](int i) { return 5000 + 100 * i; }));
  EXPECT_TRUE(grows([](int i) { return 5000 + 512 * (i / 4); }));    // in chunks
  EXPECT_FALSE(grows([](int i) { return i < 50 ? 5000 : 90000; }));  // one jump
  EXPECT_FALSE(grows([](int i) { return i < 30 ? 5000 + 1000 * i : 35000; }));
  EXPECT_FALSE(grows([](int i) { return 5000 + 2000 * (i % 2); }));  // up and down
  EXPECT_FALSE(grows([](int i) { return 5000 + i; }));               // too little to matter
}

// The clock's estimate for all rounds may be off by a varying factor; the rounds that it split are
// exact.
TEST(Trend, LooksAtTheRoundsThatWereSplit) {
  const Course course{.us_per_step = [](Phase p, double) { return usual(p); }};
  std::vector<Sample> samples = course.samples();
  double factor = 1;
  for (Sample& sample : samples) {
    factor *= 1.02;
    for (double& seconds : sample.phases) seconds *= factor;
  }
  EXPECT_TRUE(find_trend(samples).slower);
  factor = 1;
  for (Sample& sample : samples) sample.split_scale = 1 / (factor *= 1.02);
  EXPECT_EQ(find_trend(samples).text, "steady");
}

TEST(Trend, WindowsWithoutSplitRoundsJoinTheNext) {
  const Course course{.us_per_step = [](Phase p, double) { return usual(p); }};
  std::vector<Sample> samples = course.samples();
  for (std::size_t i = 1; i + 1 < samples.size(); i += 2) samples[i].phases = samples[i - 1].phases;
  const Trend trend = find_trend(samples);
  EXPECT_EQ(trend.text, "steady");
  EXPECT_NEAR(trend.us_per_step.first, 10, 1e-6);
}

TEST(Trend, TooShortToTell) {
  const Course course{.windows = 5, .us_per_step = [](Phase p, double) { return usual(p); }};
  const Trend trend = find_trend(course.samples());
  EXPECT_FALSE(trend.known || trend.slower || trend.longer_episodes || trend.growing_memory);
  EXPECT_EQ(trend.text, "unknown: the profile is too short");
  EXPECT_FALSE(find_trend({}).known);
}

}  // namespace
}  // namespace hotloop
