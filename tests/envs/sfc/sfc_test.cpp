// Worked numbers: from the specification where a test names its section, otherwise by hand.
#include "envs/sfc/sfc.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>

#include <cmath>
#include <string>

#include "tests/envs/sfc/worlds.hpp"

namespace hotloop {
namespace {

std::vector<float> part(const std::vector<float>& obs, int begin, int count) {
  return {obs.begin() + begin, obs.begin() + begin + count};
}
std::vector<float> progress_of(const std::vector<float>& obs, int type) {
  return part(obs, 14 + 13 * type, 13);
}
std::vector<float> requests_of(const std::vector<float>& obs, int type) {
  return part(obs, 92 + 10 * type, 10);
}

double points(const OneSfc& sfc, int id, int centre) {
  double found = std::nan("");
  const auto see = [&](int slot) {
    const SfcRequest& request = sfc.world().requests[slot];
    if (request.id == id) found = sfc.world().score(request, centre);
  };
  for (const auto& list : sfc.world().waiting) sfc.world().for_each(list, see);
  for (const auto& list : sfc.world().under_way) sfc.world().for_each(list, see);
  return found;
}

// Section 17.1.
TEST(Sfc, SizesDoNotDependOnTheCentres) {
  for (const char* mode : {"reference", "paper"}) {
    for (const char* centres : {"2", "3", "4", "5", "6", "7", "8"}) {
      const EnvSpec spec = env_spec({"sfc", {{"mode", mode}, {"centres", centres}}});
      EXPECT_EQ(spec.obs, 152);
      EXPECT_EQ(spec.actions, 13);
      EXPECT_EQ(spec.max_steps, 10050);
      EXPECT_EQ(spec.parts[0].size(), 14);
      EXPECT_EQ(spec.parts[1].shape, (std::array<int, 3>{6, 13, 0}));
      EXPECT_EQ(spec.parts[2].shape, (std::array<int, 3>{6, 10, 0}));
    }
  }
}

// Section 17.2.
TEST(Sfc, GoldenObservation) {
  OneSfc sfc;
  sfc.place({centre_at(0, 50), centre_at(300)}, {{kCg, 0, 1}, {kInd, 0, 1}});
  std::vector<float> obs = sfc.observe();
  EXPECT_EQ(part(obs, 0, 14), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2048, 50}));
  EXPECT_EQ(part(obs, 14, 78), std::vector<float>(78));
  EXPECT_EQ(requests_of(obs, kCg), (std::vector<float>{1, 1, 80, 0.004f, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(requests_of(obs, kInd), (std::vector<float>{1, 1, 8, 0.07f, 1, 1, 0, 0, 0, 0}));
  for (const int type : {kAr, kVoip, kVs, kMiot}) {
    EXPECT_EQ(requests_of(obs, type), std::vector<float>(10));
  }

  EXPECT_EQ(sfc.chosen(kNat), 1);
  EXPECT_EQ(sfc.step(kAllocate + kNat).reward, 0);
  sfc.go_to(0);
  obs = sfc.observe();
  EXPECT_EQ(part(obs, 0, 14), (std::vector<float>{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2041, 49}));
  EXPECT_EQ(requests_of(obs, kInd), std::vector<float>(10));
  EXPECT_EQ(progress_of(obs, kInd), (std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
  sfc.go_to(1);
  EXPECT_EQ(part(sfc.observe(), 14, 78), std::vector<float>(78));  // no request in progress there
}

// Sections 7 and 17.5. The time of creation sets the age, because the clock is 0.
TEST(Sfc, Points) {
  OneSfc sfc;
  sfc.place(
      {centre_at(0), centre_at(300)},
      {{kVoip, 0, 1}, {kCg, 0, 1}, {kAr, 0, 1, -0.01}, {kAr, 0, 1}, {kInd, 0, 1}, {kMiot, 0, 1}});
  EXPECT_NEAR(points(sfc, 0, 0), -100, 1e-6);
  EXPECT_NEAR(points(sfc, 1, 0), -80, 1e-6);
  EXPECT_NEAR(points(sfc, 2, 0), 0.020009, 1e-6);
  EXPECT_NEAR(points(sfc, 3, 0), -10, 1e-6);
  EXPECT_NEAR(points(sfc, 4, 0), 4.499998, 1e-6);
  EXPECT_NEAR(points(sfc, 5, 0), 19995.996, 1e-3);  // the specification's digits

  sfc.place({centre_at(0), centre_at(300)}, {{kCg, 0, 1}});
  sfc.step(kAllocate + kNat);
  EXPECT_NEAR(points(sfc, 0, 0), -70, 1e-6);
  EXPECT_NEAR(points(sfc, 0, 1), -85, 1e-6);

  sfc.place({centre_at(0), centre_at(300)}, {{kAr, 0, 1, -9.5}});
  sfc.step(kAllocate + kNat);
  EXPECT_NEAR(points(sfc, 0, 0), 209.4996, 1e-6 + 5e-5);  // given to four digits
  EXPECT_NEAR(points(sfc, 0, 0), -0.5 + 10 + 100 / (0.5 + 1e-6), 1e-6);
}

TEST(Sfc, TiesGoToTheEarlierAndToTheWaiting) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}});
  sfc.place({centre_at(0), centre_at(300)}, {{kVs, 0, 1}, {kVoip, 0, 1}, {kVs, 1, 0}});
  EXPECT_EQ(sfc.chosen(kNat), 0);  // all have -100
  sfc.step(kAllocate + kNat);
  EXPECT_EQ(sfc.chosen(kNat), 1);
  sfc.step(kAllocate + kNat);
  EXPECT_EQ(sfc.chosen(kNat), 2);
  // Now FW: request 0 is at centre 0, request 1 at centre 1, so the local one is chosen.
  sfc.go_to(0);
  EXPECT_EQ(sfc.chosen(kFw), 0);
  sfc.go_to(1);
  EXPECT_EQ(sfc.chosen(kFw), 1);
}

TEST(Sfc, TiesUnderWayGoToTheFirstActivated) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(0)}, {{kAr, 0, 1}, {kVs, 0, 1}, {kVoip, 0, 1}});
  for (int i = 0; i < 3; ++i) {
    sfc.go_to(0);
    sfc.step(kAllocate + kNat);
  }
  for (const int id : {0, 1, 2}) {  // VS and VoIP have the same limit
    sfc.go_to(0);
    EXPECT_EQ(sfc.chosen(kFw), id);
    sfc.step(kAllocate + kFw);
  }
}

// A VoIP request that needs its second NAT loses 5 points at a centre where it has no function. If
// it is 5 ms older, it ties with a waiting one. The clock is at 1 ms, where nothing is rounded.
TEST(Sfc, TiesGoToTheWaitingBeforeThoseUnderWay) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}});
  sfc.place({centre_at(0), centre_at(0)}, {{kVoip, 0, 1, -5}, {kVs, 1, 0}});
  for (const int function : {kNat, kFw, kTm, kFw}) {
    sfc.go_to(0);
    ASSERT_EQ(sfc.chosen(function), 0);
    sfc.step(kAllocate + function);
  }
  while (sfc.world().ticks < 100) sfc.step(kWait);
  ASSERT_EQ(sfc.world().here(), 1);
  EXPECT_EQ(points(sfc, 0, 1), -99);
  EXPECT_EQ(points(sfc, 1, 1), -99);
  EXPECT_EQ(sfc.chosen(kNat), 1);
}

// Section 17.6.
TEST(Sfc, ClockAndOrder) {
  OneSfc sfc;
  const std::vector<SfcCentre> square = {centre_at(0), centre_at(100), centre_at(200),
                                         centre_at(300)};
  sfc.place(square, {{kCg, 1, 3}, {kAr, 2, 0}});
  for (int step = 1; step <= 8; ++step) {
    sfc.step(kWait);
    EXPECT_EQ(sfc.world().position, step % 4);
    EXPECT_EQ(sfc.world().clock, step < 4 ? 0 : step < 8 ? 0.01 : 0.02);
    const std::array<std::uint8_t, 4> expected = step < 4 ? std::array<std::uint8_t, 4>{0, 1, 2, 3}
                                                          : std::array<std::uint8_t, 4>{2, 0, 1, 3};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(sfc.world().order[i], expected[i]) << step;
  }
}

TEST(Sfc, MiotIsDroppedInTheStepAfterTheFirstWrap) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(1), centre_at(2), centre_at(3)}, {{kMiot, 0, 1}, {kCg, 0, 1}});
  for (int step = 1; step <= 4; ++step) sfc.step(kWait);
  EXPECT_EQ(sfc.measure("dropped"), 0);
  const Step late = sfc.step(kWait);
  EXPECT_EQ(sfc.measure("dropped"), 1);
  EXPECT_EQ(late.reward, 0);
  EXPECT_EQ(sfc.measure("miot"), 0);
  EXPECT_TRUE(std::isnan(sfc.measure("ar")));
}

// In that step it is still a candidate. With -0.005 ms left, the formula gives -20,004 points, less
// than any other.
TEST(Sfc, AnExpiredRequestIsStillScoredOnce) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(1)}, {{kMiot, 0, 1}, {kCg, 0, 1}});
  EXPECT_EQ(sfc.chosen(kNat), 0);
  sfc.step(kWait);
  sfc.step(kWait);
  EXPECT_NEAR(points(sfc, 0, 0), 0.005 + 100 / (-0.005 + 1e-6), 1e-6);
  EXPECT_EQ(sfc.chosen(kNat), 1);
}

TEST(Sfc, RequestsArriveOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    OneSfc sfc(EnvOptions{{"centres", "2"}});
    sfc.reset(seed);
    EXPECT_EQ(sfc.world().pending, 0);
    EXPECT_EQ(sfc.mask(), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    EXPECT_TRUE(std::isnan(sfc.measure("score")));
    sfc.step(kWait);
    const float arrived = sfc.measure("generated");
    EXPECT_GE(arrived, 1);
    EXPECT_LE(arrived, 50);
    for (int step = 2; step <= 10050; ++step) sfc.step(kWait);
    EXPECT_EQ(sfc.measure("generated"), arrived);
    EXPECT_NEAR(sfc.world().clock, 50.25, 1e-9);
  }
}

// The sums of the table, by type, over many episodes; VoIP and VS alone fill the list.
TEST(Sfc, BundlesAndTraffic) {
  const auto extremes = [](const EnvOptions& options, int type) {
    OneSfc sfc(options);
    std::pair<int, int> found = {1 << 20, 0};
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      sfc.reset(seed);
      sfc.steps = seed;
      sfc.step(kWait);
      const int count = sfc.world().generated[type];
      if (count == 0) continue;
      found = {std::min(found.first, count), std::max(found.second, count)};
    }
    return found;
  };
  const EnvOptions reference = {{"pending_cap", "8000"}};
  const EnvOptions paper = {{"mode", "paper"}};
  using Pair = std::pair<int, int>;
  EXPECT_EQ(extremes(reference, kCg), Pair(40, 54));
  EXPECT_EQ(extremes(reference, kAr), Pair(1, 3));
  EXPECT_EQ(extremes(reference, kVoip), Pair(100, 199));
  EXPECT_EQ(extremes(reference, kVs), Pair(50, 99));
  EXPECT_EQ(extremes(reference, kMiot), Pair(10, 14));
  EXPECT_EQ(extremes(reference, kInd), Pair(1, 3));
  EXPECT_EQ(extremes({}, kVoip).second, 50);
  EXPECT_EQ(extremes(paper, kCg), Pair(40, 55));
  EXPECT_EQ(extremes(paper, kInd), Pair(1, 4));
  EXPECT_EQ(extremes(paper, kVoip), Pair(100, 200));
  EXPECT_EQ(extremes({{"traffic", "0.1"}}, kCg), Pair(4, 5));
  EXPECT_EQ(extremes({{"traffic", "0.1"}}, kInd), Pair(1, 1));
  EXPECT_EQ(extremes({{"traffic", "2"}, {"pending_cap", "8000"}}, kMiot), Pair(20, 28));
}

// Section 2: 300 km take 1 ms, the diagonal of the square 4.714 ms. An Ind4.0 chain has NAT and FW,
// which take 0.09 ms, and a limit of 8 ms.
TEST(Sfc, DelayOfAFinishedChain) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(300)}, {{kInd, 0, 1}});
  EXPECT_EQ(sfc.step(kAllocate + kNat).reward, 0);
  const Step last = sfc.step(kAllocate + kFw);
  EXPECT_EQ(last.reward, 2);
  EXPECT_TRUE(last.terminated);
  EXPECT_NEAR(sfc.measure("delay"), 1.09, 1e-6);
  EXPECT_EQ(sfc.measure("score"), 1);
  EXPECT_EQ(sfc.measure("settled"), 1);
  EXPECT_EQ(sfc.measure("ind"), 1);
  EXPECT_NEAR(sfc.measure("utilisation"), 10 / 238.0, 1e-7);  // idle instances count

  SfcCentre far = centre_at(1000);
  far.y = 1000;
  sfc.place({centre_at(0), far}, {{kInd, 0, 1}});
  EXPECT_NEAR(sfc.world().hop[0][1], 4.714, 5e-4);
  sfc.step(kAllocate + kNat);
  sfc.step(kAllocate + kFw);
  EXPECT_NEAR(sfc.measure("delay"), 4.804, 5e-4);
}

TEST(Sfc, AChainFinishedTooLateIsDropped) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(300)}, {{kInd, 0, 1, -7}});  // 1 ms left, 1.09 needed
  sfc.step(kAllocate + kNat);
  const Step last = sfc.step(kAllocate + kFw);
  EXPECT_EQ(last.reward, -1.5f);
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(sfc.measure("dropped"), 1);
  EXPECT_EQ(sfc.measure("score"), 0);
  EXPECT_TRUE(std::isnan(sfc.measure("delay")));
}

// Section 8, action by action.
TEST(Sfc, RewardsOfUninstalling) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(0)}, {{kInd, 0, 1}, {kCg, 0, 1}});
  EXPECT_EQ(sfc.step(kUninstall + kNat).reward, -0.5f);  // needed, though none is installed
  EXPECT_EQ(sfc.step(kUninstall + kTm).reward, -1);
  sfc.place({centre_at(0), centre_at(0)}, {{kInd, 0, 1}, {kVs, 0, 1}});
  sfc.step(kAllocate + kNat);
  sfc.go_to(0);
  EXPECT_EQ(sfc.step(kAllocate + kFw).reward, 2);
  sfc.go_to(0);
  sfc.step(kAllocate + kNat);  // the VS has the idle NAT now
  EXPECT_EQ(sfc.world().centres[0].installed[kNat], 1);
  sfc.go_to(0);
  EXPECT_EQ(sfc.step(kUninstall + kNat).reward, -1);    // no request needs it, but it is busy
  EXPECT_EQ(sfc.step(kUninstall + kFw).reward, -0.5f);  // at centre 1
  EXPECT_EQ(sfc.world().centres[0].cpu, 119 - 10);
}

TEST(Sfc, UninstallingGivesBack) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(0)}, {{kInd, 0, 1}, {kMiot, 0, 1, 0.02}});
  sfc.step(kAllocate + kNat);  // MIoT: created later, but far more urgent
  sfc.go_to(0);
  sfc.step(kAllocate + kNat);
  sfc.go_to(0);
  while (sfc.measure("dropped") == 0) sfc.step(kWait);  // its NAT is idle now
  sfc.go_to(0);
  EXPECT_EQ(sfc.mask()[kUninstall + kNat], 1);
  EXPECT_EQ(sfc.step(kUninstall + kNat).reward, 0);
  EXPECT_EQ(sfc.world().centres[0].cpu, 118);
  EXPECT_EQ(sfc.world().centres[0].ram, 252);
  EXPECT_EQ(sfc.world().centres[0].storage, 2041);
}

TEST(Sfc, RewardsOfAllocating) {
  OneSfc sfc(EnvOptions{{"placement_reward", "0.25"}});
  sfc.place({centre_at(0, 12), centre_at(0, 12)}, {{kAr, 0, 1}});
  EXPECT_EQ(sfc.step(kAllocate + kFw).reward, -1);  // not next
  sfc.go_to(0);
  EXPECT_EQ(sfc.step(kAllocate + kNat).reward, 0.25f);
  sfc.go_to(0);
  EXPECT_EQ(sfc.step(kAllocate + kFw).reward, 0.25f);
  sfc.go_to(0);
  EXPECT_EQ(sfc.mask()[kAllocate + kTm], 0);
  EXPECT_EQ(sfc.step(kAllocate + kTm).reward, -1);  // needs 13 CPU, 2 are left
  EXPECT_EQ(sfc.step(kWait).reward, 0);
}

// The paper's numbers (section 15).
TEST(SfcPaper, ClockPerActionAndRounds) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}, {"centres", "3"}, {"pending_cap", "8000"}});
  sfc.reset(3);
  float before = 0;
  for (int step = 1; step <= 3000; ++step) {
    sfc.step(kWait);
    ASSERT_EQ(sfc.world().clock, step * 0.01);
    const bool arrived = sfc.measure("generated") > before;
    ASSERT_EQ(arrived, step <= 2000 && step % 400 == 1) << step;  // every 4 ms, five times
    before = sfc.measure("generated");
  }
}

TEST(SfcPaper, EndsOnlyAfterTheLastRound) {
  OneSfc sfc(
      EnvOptions{{"mode", "paper"}, {"rounds", "2"}, {"interval", "1"}, {"traffic", "0.01"}});
  sfc.reset(1);
  bool was_empty = false;
  for (int step = 1; step <= 100000; ++step) {
    std::array<std::int32_t, 1> action{};
    sfc.array.play(1, 0, 1, 0, Purpose::test, step, action);
    const Step result = sfc.step(action[0]);
    const bool is_empty = sfc.world().pending + sfc.world().active == 0;
    ASSERT_EQ(result.terminated, is_empty && step > 100);
    was_empty |= is_empty && step <= 100;
    if (result.terminated) break;
  }
  EXPECT_TRUE(was_empty);
}

TEST(SfcPaper, OrderFollowsEveryAction) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}});
  sfc.place({centre_at(0), centre_at(100), centre_at(200)}, {{kAr, 2, 1}, {kInd, 1, 0, 0}});
  sfc.step(kAllocate + kNat);  // Ind4.0; then AR is the most urgent waiting one
  EXPECT_EQ(sfc.world().position, 1);
  EXPECT_EQ(sfc.world().order[0], 2);
  EXPECT_EQ(sfc.world().order[1], 1);
  EXPECT_EQ(sfc.world().order[2], 0);
}

TEST(SfcPaper, VoipHasFiveFunctions) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}, {"centres", "2"}});
  sfc.place({centre_at(0), centre_at(0)}, {{kVoip, 0, 1}});
  EXPECT_EQ(requests_of(sfc.observe(), kVoip),
            (std::vector<float>{1, 1, 100, 0.064f, 2, 2, 0, 1, 0, 0}));
  for (const int function : {kNat, kFw, kTm, kFw}) {
    sfc.go_to(0);
    EXPECT_EQ(sfc.step(kAllocate + function).reward, 0);
  }
  sfc.go_to(0);
  EXPECT_EQ(progress_of(sfc.observe(), kVoip),
            (std::vector<float>{1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sfc.step(kAllocate + kNat).reward, 2);
  EXPECT_NEAR(sfc.measure("delay"), 0.06 + 0.03 + 0.07 + 0.03 + 0.06, 1e-6);
  EXPECT_EQ(sfc.world().centres[0].installed[kNat], 2);  // an instance is held until the end
}

TEST(SfcPaper, ATimeOutCosts) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}, {"centres", "2"}});
  sfc.place({centre_at(0), centre_at(0)}, {{kMiot, 0, 1, -4.995}, {kMiot, 0, 1, -4.995}});
  EXPECT_EQ(sfc.step(kWait).reward, 0);
  EXPECT_EQ(sfc.step(kWait).reward, -3);
  EXPECT_EQ(sfc.measure("dropped"), 2);
}

// Ten AR requests of 100 Mbps fill the link between centres 0 and 1; the eleventh goes via 2.
TEST(SfcPaper, BandwidthIsReservedAndReleased) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}});
  std::vector<SfcCentre> triangle = {centre_at(0), centre_at(300), centre_at(150)};
  triangle[2].y = 200;  // 250 km from both
  for (SfcCentre& centre : triangle) centre.all_cpu = centre.cpu = 1000;
  const std::vector<SfcWaiting> waiting(11, SfcWaiting{kAr, 0, 1});
  sfc.place(triangle, waiting);
  for (int i = 0; i < 11; ++i) {
    sfc.go_to(0);
    ASSERT_EQ(sfc.step(kAllocate + kNat).reward, 0);
  }
  for (int i = 0; i < 10; ++i) {
    sfc.go_to(1);
    ASSERT_EQ(sfc.step(kAllocate + kFw).reward, 0);
    ASSERT_EQ(sfc.world().free_kbps[sfc_link(0, 1)], 1'000'000 - 100'000 * (i + 1));
  }
  const SfcRoute round = sfc.world().route(0, 1, 100'000);
  EXPECT_EQ(round.count, 3);
  EXPECT_EQ(round.centres[1], 2);
  EXPECT_NEAR(round.delay, 500 / 300.0, 1e-12);
  sfc.go_to(1);
  EXPECT_EQ(sfc.step(kAllocate + kFw).reward, 0);
  EXPECT_EQ(sfc.world().free_kbps[sfc_link(0, 2)], 900'000);
  EXPECT_EQ(sfc.world().free_kbps[sfc_link(1, 2)], 900'000);
  while (sfc.world().active > 0) sfc.step(kWait);  // they time out
  for (const int kbps :
       {sfc.world().free_kbps[0], sfc.world().free_kbps[1], sfc.world().free_kbps[2]}) {
    EXPECT_EQ(kbps, 1'000'000);
  }
}

TEST(SfcPaper, WithoutBandwidthThereIsNoCandidate) {
  OneSfc sfc(EnvOptions{{"mode", "paper"}});
  std::vector<SfcCentre> pair = {centre_at(0, 1000), centre_at(300, 1000)};
  sfc.place(pair, std::vector<SfcWaiting>(11, SfcWaiting{kAr, 0, 1}));
  for (int i = 0; i < 11; ++i) {
    sfc.go_to(0);
    sfc.step(kAllocate + kNat);
  }
  for (int i = 0; i < 10; ++i) {
    sfc.go_to(1);
    sfc.step(kAllocate + kFw);
  }
  sfc.go_to(1);
  EXPECT_EQ(sfc.chosen(kFw), -1);
  EXPECT_EQ(sfc.mask()[kAllocate + kFw], 0);
  EXPECT_EQ(sfc.step(kAllocate + kFw).reward, -1);
  sfc.go_to(0);
  EXPECT_EQ(sfc.chosen(kFw), 10);  // it needs no link to stay
}

TEST(Sfc, ScaledObservationsAreAboutOne) {
  OneSfc raw, scaled(EnvOptions{{"scale", "on"}});
  for (OneSfc* sfc : {&raw, &scaled}) {
    sfc->place({centre_at(0), centre_at(0)}, {{kCg, 0, 1}, {kMiot, 0, 1, 0, 25000}});
  }
  const std::vector<float> obs = scaled.observe();
  EXPECT_EQ(obs[12], 1);
  EXPECT_NEAR(obs[13], 1, 1e-6);
  const std::vector<float> miot = requests_of(obs, kMiot);
  const std::vector<double> expected = {1, .02, 0.00005, .5, .02, .02, 0, 0, 0, .02};
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(miot[i], expected[i], 1e-6) << i;
  EXPECT_EQ(requests_of(raw.observe(), kMiot)[3], 25);
}

TEST(Sfc, CentresFollowTheOptions) {
  const auto sizes = [](const EnvOptions& options) {
    OneSfc sfc(options);
    std::pair<int, int> found = {100, 0};
    std::pair<int, int> cpu = {1000, 0};
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      sfc.reset(seed);
      const int count = sfc.world().centre_count;
      found = {std::min(found.first, count), std::max(found.second, count)};
      for (int c = 0; c < count; ++c) {
        const int all = sfc.world().centres[c].all_cpu;
        cpu = {std::min(cpu.first, all), std::max(cpu.second, all)};
      }
    }
    EXPECT_EQ(cpu, std::pair(12, sfc.array.rules().paper ? 120 : 119));
    return found;
  };
  EXPECT_EQ(sizes({}), std::pair(2, 8));
  EXPECT_EQ(sizes({{"mode", "paper"}}), std::pair(2, 4));
  EXPECT_EQ(sizes({{"centres", "5"}}), std::pair(5, 5));
  EXPECT_EQ(sizes({{"fewest", "3"}, {"most", "6"}}), std::pair(3, 6));
}

TEST(Sfc, RefusesContradictions) {
  const auto refusal = [](const EnvOptions& options) -> std::string {
    try {
      make_worlds({"sfc", options}, 1);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({{"fewest", "5"}, {"most", "4"}}).find("most 4"), std::string::npos);
  EXPECT_NE(refusal({{"fewest", "5"}, {"mode", "paper"}}).find("most 4"), std::string::npos);
  EXPECT_EQ(refusal({{"fewest", "5"}, {"most", "4"}, {"centres", "8"}}), "");
  EXPECT_NE(refusal({{"centres", "9"}}).find("2 to 8"), std::string::npos);
}

}  // namespace
}  // namespace hotloop
