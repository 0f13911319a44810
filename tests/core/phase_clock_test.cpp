#include "core/phase_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace hotloop {
namespace {

double of(const PhaseSeconds& seconds, Phase phase) {
  return seconds[static_cast<std::size_t>(phase)];
}

void spin(int microseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(PhaseClock, TimeGoesToThePhaseThatRanAndAddsUp) {
  const auto start = std::chrono::steady_clock::now();
  PhaseClock clock;
  clock.enter(Phase::evaluate);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  clock.enter(Phase::log);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const PhaseSeconds seconds = clock.seconds();  // the visit in progress counts
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(of(seconds, Phase::evaluate), 0.059);
  EXPECT_GE(of(seconds, Phase::log), 0.019);
  EXPECT_GT(of(seconds, Phase::evaluate), of(seconds, Phase::log));
  EXPECT_EQ(of(seconds, Phase::checkpoint), 0);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  EXPECT_LE(sum, wall * 1.001);
  EXPECT_GE(sum, wall * 0.9);
}

// Some short rounds are split into phases; the others are divided in the same proportions.
TEST(PhaseClock, OtherRoundsAreDividedLikeSplitOnes) {
  constexpr int kRounds = 800;
  double share = 0;
  // On a busy machine a pause may fall into one phase; a wrong clock fails every time.
  for (int attempt = 0; attempt < 10 && std::abs(share - 0.25) > 0.05; ++attempt) {
    PhaseClock clock;
    for (int round = 0; round < kRounds; ++round) {
      clock.begin_round();
      mark(Phase::act_forward);
      spin(10);
      mark(Phase::learn_loss);
      spin(30);
      clock.end_round();
    }
    clock.enter(Phase::other);
    const PhaseSeconds seconds = clock.seconds();
    const double act = of(seconds, Phase::act_forward), learn = of(seconds, Phase::learn_loss);
    EXPECT_GE(act + learn, 0.97 * kRounds * 40e-6);
    EXPECT_LT(clock.switches(), kRounds);  // splitting every round would need three times as many
    EXPECT_GT(clock.switches(), kRounds / 16);
    const auto statistics = clock.statistics();
    const PhaseStatistics& visits = statistics[static_cast<std::size_t>(Phase::learn_loss)];
    EXPECT_NEAR(visits.calls, kRounds, 1e-6 * kRounds);
    EXPECT_NEAR(visits.p50_us, 30, 4);
    EXPECT_GE(visits.p99_us, visits.p50_us);
    share = act / (act + learn);
  }
  EXPECT_NEAR(share, 0.25, 0.05);
}

// However often rounds are split, each split round stands for the similar rounds around it. A busy
// machine stretches rounds, so the test measures their time too, and adds up their weights.
TEST(PhaseClock, LongRoundsAmongShortOnesAreNotCountedTwice) {
  constexpr int kRounds = 200;  // of each kind
  double error = 1;             // relative, of the clock's share of acting
  for (int attempt = 0; attempt < 3 && error > 0.05; ++attempt) {
    PhaseClock clock;
    double act = 0, all = 0;               // weighted ticks of split rounds
    double stands_for[2] = {}, split = 0;  // short, long
    for (int round = 0; round < 2 * kRounds; ++round) {
      const bool is_long = round >= kRounds;
      clock.begin_round();
      const double weight =
          PhaseClock::splitting() == &clock ? static_cast<double>(clock.weight()) : 0;
      mark(Phase::act_forward);
      const std::uint64_t begin = PhaseClock::ticks();
      spin(is_long ? 10 : 20);
      const std::uint64_t middle = PhaseClock::ticks();
      mark(Phase::learn_loss);
      spin(is_long ? 490 : 20);
      const std::uint64_t end = PhaseClock::ticks();
      clock.end_round();
      act += weight * static_cast<double>(middle - begin);
      all += weight * static_cast<double>(end - begin);
      stands_for[is_long] += weight;
      split += weight > 0 ? 1 : 0;
    }
    clock.enter(Phase::other);
    EXPECT_LT(split, 1.5 * kRounds);  // otherwise weights do not matter
    EXPECT_NEAR(stands_for[0], kRounds, 0.4 * kRounds);
    EXPECT_NEAR(stands_for[1], kRounds, 0.4 * kRounds);
    const PhaseSeconds seconds = clock.seconds();
    const double acting = of(seconds, Phase::act_forward);
    const double share = acting / (acting + of(seconds, Phase::learn_loss));
    error = std::abs(share / (act / all) - 1);
  }
  EXPECT_LT(error, 0.05);
}

TEST(PhaseClock, MarksCountOnlyInTheThreadWhoseRoundIsSplit) {
  PhaseClock clock;
  mark(Phase::env_step);  // no round: nothing happens
  clock.begin_round();    // the first round is always split
  ASSERT_EQ(PhaseClock::splitting(), &clock);
  std::thread([] {
    EXPECT_EQ(PhaseClock::splitting(), nullptr);
    mark(Phase::env_step);
  }).join();
  mark(Phase::learn_loss);
  spin(20);  // a phase that takes no longer than a switch counts as nothing
  clock.end_round();
  EXPECT_EQ(PhaseClock::splitting(), nullptr);
  EXPECT_EQ(of(clock.seconds(), Phase::env_step), 0);
  EXPECT_GT(of(clock.seconds(), Phase::learn_loss), 0);
}

TEST(PhaseClock, AllocationsAreChargedToThePhaseThatMadeThem) {
  if (!Allocations::counted) GTEST_SKIP() << "allocations are not counted in this build";
  PhaseClock clock;
  clock.begin_round();
  mark(Phase::env_step);
  for (int i = 0; i < 7; ++i) std::make_unique<std::vector<int>>(10).reset();
  mark(Phase::env_observe);
  clock.end_round();
  clock.enter(Phase::other);
  const auto statistics = clock.statistics();
  EXPECT_NEAR(statistics[static_cast<std::size_t>(Phase::env_step)].allocations, 14, 0.1);
  EXPECT_EQ(statistics[static_cast<std::size_t>(Phase::env_observe)].allocations, 0);
}

TEST(PhaseClock, ATraceHoldsTheVisitsInOrder) {
  PhaseClock clock(Phase::start);
  std::vector<PhaseVisit> visits(3);
  clock.trace(visits);
  clock.enter(Phase::log);
  clock.enter(Phase::evaluate);
  clock.enter(Phase::log);
  clock.enter(Phase::other);  // no room left
  ASSERT_EQ(clock.traced(), 3u);
  EXPECT_EQ(visits[0].slot, static_cast<std::size_t>(Phase::start));
  EXPECT_EQ(visits[1].slot, static_cast<std::size_t>(Phase::log));
  EXPECT_EQ(visits[2].slot, static_cast<std::size_t>(Phase::evaluate));
  EXPECT_EQ(visits[0].end, visits[1].begin);
  EXPECT_LE(visits[2].begin, visits[2].end);
}

TEST(PhaseClock, TheTableOfNamesIsComplete) {
  std::size_t group = 0;
  for (const PhaseName& name : kPhases) {
    if (name.group != kPhaseGroups[group]) ++group;
    ASSERT_EQ(name.group, kPhaseGroups[group]);  // groups are contiguous and in order
  }
  EXPECT_EQ(group, kPhaseGroups.size() - 1);
}

}  // namespace
}  // namespace hotloop
