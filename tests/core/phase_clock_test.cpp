#include "core/phase_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
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

// One round in eight is taken apart; the others are shared out in the same proportions.
TEST(PhaseClock, RoundsAreSharedOutLikeThoseThatWereTakenApart) {
  const auto spin = [](int microseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  constexpr int kRounds = 400;
  double share = 0;
  // On a busy machine a pause may fall into one part; a clock that shares wrongly does so every time.
  for (int attempt = 0; attempt < 10 && std::abs(share - 0.25) > 0.05; ++attempt) {
    PhaseClock clock;
    for (int round = 0; round < kRounds; ++round) {
      clock.begin_round();
      clock.enter_part(Phase::act);
      spin(20);
      clock.enter_part(Phase::learn);
      spin(60);
    }
    clock.enter(Phase::other);
    const auto seconds = clock.seconds();
    const double act = seconds[static_cast<std::size_t>(Phase::act)];
    const double learn = seconds[static_cast<std::size_t>(Phase::learn)];
    EXPECT_GE(act + learn, 0.99 * kRounds * 80e-6);
    EXPECT_LT(clock.switches(), kRounds);  // taking every round apart would need twice as many
    EXPECT_GT(clock.switches(), kRounds / 8);
    share = act / (act + learn);
  }
  EXPECT_NEAR(share, 0.25, 0.05);
}

TEST(PhaseClock, EveryPhaseHasAName) {
  for (std::string_view name : kPhaseNames) EXPECT_FALSE(name.empty());
  EXPECT_EQ(kPhaseNames[static_cast<std::size_t>(Phase::other)], "other");  // the last one
  EXPECT_EQ(kPhaseNames[kPartsOfRound - 1], "learn");
}

}  // namespace
}  // namespace hotloop
