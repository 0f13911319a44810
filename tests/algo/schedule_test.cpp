#include "algo/schedule.hpp"

#include <gtest/gtest.h>

namespace hotloop {
namespace {

// SLM-Lab's specification, check 5: linear 1 -> 0.1 over 1000.
TEST(Schedule, LinearWorkedNumbers) {
  const Schedule s{ScheduleKind::linear, 1.0, 0.1, 1000};
  EXPECT_DOUBLE_EQ(s.at(0), 1.0);
  EXPECT_DOUBLE_EQ(s.at(250), 0.775);
  EXPECT_DOUBLE_EQ(s.at(1000), 0.1);
  EXPECT_DOUBLE_EQ(s.at(5000), 0.1);
}

TEST(Schedule, ConstantExponentialCosine) {
  EXPECT_DOUBLE_EQ((Schedule{ScheduleKind::constant, 0.3, 0, 10}.at(7)), 0.3);
  const Schedule e{ScheduleKind::exponential, 1.0, 0.01, 100};
  EXPECT_NEAR(e.at(50), 0.1, 1e-12);  // the geometric mean of the ends
  EXPECT_NEAR(e.at(200), 0.01, 1e-12);
  const Schedule c{ScheduleKind::cosine, 2.0, 0.0, 100};
  EXPECT_NEAR(c.at(0), 2, 1e-12);
  EXPECT_NEAR(c.at(25), 1 + std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(c.at(50), 1, 1e-12);
  EXPECT_NEAR(c.at(100), 0, 1e-12);
}

}  // namespace
}  // namespace hotloop
