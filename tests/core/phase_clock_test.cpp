#include "core/phase_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace hotloop {
namespace {

TEST(PhaseClock, TimeGoesToThePhaseThatRanAndAddsUp) {
  const auto start = std::chrono::steady_clock::now();
  PhaseClock clock;
  clock.enter(Phase::learn);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  clock.enter(Phase::step);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  clock.enter(Phase::other);
  const auto seconds = clock.seconds();
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double learn = seconds[static_cast<std::size_t>(Phase::learn)];
  const double step = seconds[static_cast<std::size_t>(Phase::step)];
  EXPECT_GE(learn, 0.059);
  EXPECT_GE(step, 0.019);
  EXPECT_GT(learn, step);
  EXPECT_EQ(seconds[static_cast<std::size_t>(Phase::save)], 0);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  EXPECT_LE(sum, wall * 1.001);
  EXPECT_GE(sum, wall * 0.9);
}

TEST(PhaseClock, EveryPhaseHasAName) {
  for (std::string_view name : kPhaseNames) EXPECT_FALSE(name.empty());
  EXPECT_EQ(kPhaseNames[static_cast<std::size_t>(Phase::save)], "save");  // the last one
}

}  // namespace
}  // namespace hotloop
