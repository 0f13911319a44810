// The array against its slow twin, to the bit: chosen requests, rewards, ends, observations, masks
// and measures. Also the invariants of envs/sfc/world.hpp, and the original's tables, which break
// them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "reference/sfc.hpp"
#include "tests/envs/sfc/worlds.hpp"

namespace hotloop {
namespace {

// The expected state, computed from the requests.
void expect_sound(const SfcWorld& world, const std::string& where) {
  std::vector<std::array<int, 6>> busy(world.centre_count);
  std::array<int, 28> reserved{};
  std::array<int, 6> needed{};
  int waiting = 0, under_way = 0;
  const auto see = [&](int slot) {
    const SfcRequest& request = world.requests[slot];
    const SfcType& type = world.type_of(request);
    ++(request.placed == 0 ? waiting : under_way);
    for (int i = 0; i < type.length; ++i) {
      ++(i < request.placed ? busy[request.hosts[i]] : needed)[type.chain[i]];
    }
    for (const std::uint32_t links : request.links) {
      for (int link = 0; link < 28; ++link) reserved[link] += (links >> link & 1) * request.kbps;
    }
  };
  for (const auto& list : world.waiting) world.for_each(list, see);
  for (const auto& list : world.under_way) world.for_each(list, see);
  ASSERT_EQ(waiting, world.pending) << where;
  ASSERT_EQ(under_way, world.active) << where;
  ASSERT_LE(waiting, world.rules->pending_cap) << where;
  for (int c = 0; c < world.centre_count; ++c) {
    const SfcCentre& centre = world.centres[c];
    int cpu = 0, ram = 0, storage = 0;
    for (int f = 0; f < kSfcFunctions; ++f) {
      ASSERT_EQ(centre.busy[f], busy[c][f]) << where;
      ASSERT_LE(centre.busy[f], centre.installed[f]) << where;
      cpu += centre.installed[f] * kSfcFunction[f].cpu;
      ram += centre.installed[f] * kSfcFunction[f].ram;
      storage += centre.installed[f] * kSfcFunction[f].storage;
    }
    ASSERT_EQ(centre.cpu + cpu, centre.all_cpu) << where;
    ASSERT_EQ(centre.ram + ram, 256) << where;
    ASSERT_EQ(centre.storage + storage, 2048) << where;
    ASSERT_TRUE(centre.cpu >= 0 && centre.ram >= 0 && centre.storage >= 0) << where;
  }
  for (int f = 0; f < kSfcFunctions; ++f) ASSERT_EQ(world.needed[f], needed[f]) << where;
  for (int link = 0; link < 28; ++link) {
    ASSERT_EQ(world.free_kbps[link], kSfcLinkKbps - reserved[link]) << where;
    ASSERT_GE(world.free_kbps[link], 0) << where;
  }
}

struct Follower {
  OneSfc fast;
  reference::Sfc slow;
  std::uint64_t stream;
  int satisfied = 0, dropped = 0, rerouted = 0;  // to check that play makes progress

  Follower(const SfcRules& rules, std::uint64_t seed) : fast(rules), slow(rules), stream(seed) {}
  Follower(const EnvOptions& options, std::uint64_t seed) : Follower(sfc_rules_of(options), seed) {}

  void compare(const std::string& where) {
    const std::vector<float> seen = fast.observe(), expected = slow.observe();
    ASSERT_EQ(seen.size(), expected.size()) << where;
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], expected[i]) << where << i;
    ASSERT_EQ(fast.mask(), slow.mask()) << where;
    for (int f = 0; f < kSfcFunctions; ++f) {
      const auto request = slow.candidate(f);
      ASSERT_EQ(fast.chosen(f), request ? request->id : -1) << where << "function " << f;
    }
    std::array<float, kMaxMeasures> found{};
    fast.array.measure(0, found);
    const std::vector<float> measures = slow.measure();
    ASSERT_EQ(std::memcmp(found.data(), measures.data(), measures.size() * sizeof(float)), 0)
        << where;
    ASSERT_NO_FATAL_FAILURE(expect_sound(fast.world(), where));
  }

  // `wise`: how many of eight actions respect the mask, so that chains get finished.
  void play(int steps, std::uint32_t wise, const std::string& name) {
    std::uint64_t episode = 0;
    int length = 0;
    const auto reset = [&] {
      Rng one(stream, Purpose::test, 1, ++episode), two = one;
      fast.array.reset(0, one);
      slow.reset(two);
      length = 0;
    };
    reset();
    for (int t = 1; t <= steps; ++t) {
      const std::string where = name + "step " + std::to_string(t) + ": ";
      ASSERT_NO_FATAL_FAILURE(compare(where));
      Rng rng(stream, Purpose::exploration, 0, t);
      int action = static_cast<int>(rng.below(13));
      if (rng.below(8) < wise) {
        const std::vector<int> allowed = fast.mask();
        while (!allowed[action]) action = static_cast<int>(rng.below(13));
      }
      fast.steps = t - 1;
      const Step found = fast.step(action);
      Rng drawn(11, Purpose::test, 0, t);
      const Step expected = slow.step(action, drawn);
      ASSERT_EQ(found.reward, expected.reward) << where;
      ASSERT_EQ(found.terminated, expected.terminated) << where;
      for (const auto& request : slow.active) {
        for (const auto& way : request->reserved) rerouted += way.size() > 2;
      }
      if (!found.terminated && ++length < slow.rules.max_steps) continue;
      satisfied += static_cast<int>(fast.measure("satisfied"));
      dropped += static_cast<int>(fast.measure("dropped"));
      reset();
    }
  }
};

std::string name_of(const EnvOptions& options) {
  std::string name;
  for (const auto& [key, word] : options) name += key + "=" + word + " ";
  return name;
}

// 5 x 3 x 8000 = 120,000 steps.
TEST(SfcTwin, ReferenceModeOnEverySize) {
  for (const char* centres : {"2", "3", "4", "5", "8"}) {
    for (const std::uint32_t wise : {0u, 4u, 7u}) {
      const EnvOptions options = {{"centres", centres}, {"max_steps", "1700"}};
      Follower follower(options, 3 + wise);
      ASSERT_NO_FATAL_FAILURE(follower.play(8000, wise, name_of(options)));
      if (wise > 0) {
        EXPECT_GT(follower.satisfied, 10) << centres;
        EXPECT_GT(follower.dropped, 10) << centres;
      }
    }
  }
}

// Requests of several ages, time limits that expire, lists that fill up.
TEST(SfcTwin, ReferenceModeWithManyRequests) {
  const std::vector<EnvOptions> all = {
      {{"centres", "2"}, {"rounds", "30"}, {"interval", "1"}, {"pending_cap", "60"}},
      {{"centres", "2"},
       {"rounds", "40"},
       {"interval", "1"},
       {"traffic", "0.05"},
       {"pending_cap", "500"},
       {"timeout_reward", "-0.7"},
       {"placement_reward", "0.3"}},
      {{"rounds", "5"}, {"interval", "1"}, {"traffic", "0.01"}, {"scale", "on"}},
      {{"centres", "8"},
       {"rounds", "9"},
       {"interval", "2"},
       {"traffic", "0.1"},
       {"pending_cap", "8000"},
       {"mask", "on"}}};
  for (const EnvOptions& options : all) {
    Follower follower(options, 7);
    ASSERT_NO_FATAL_FAILURE(follower.play(12000, 5, name_of(options)));
  }
  const EnvOptions crowd = {
      {"centres", "4"}, {"traffic", "10"}, {"pending_cap", "8000"}, {"max_steps", "300"}};
  ASSERT_NO_FATAL_FAILURE(Follower(crowd, 8).play(1500, 6, name_of(crowd)));
}

TEST(SfcTwin, PaperMode) {
  int dropped = 0, satisfied = 0;
  for (const char* centres : {"2", "3", "4", "6", "8"}) {
    for (const char* traffic : {"0.02", "0.2", "1"}) {
      EnvOptions options = {{"mode", "paper"}, {"centres", centres}, {"traffic", traffic},
                            {"interval", "1"}, {"rounds", "12"},     {"max_steps", "2500"}};
      if (traffic == std::string("0.2")) options.emplace_back("scale", "on");
      Follower follower(options, 5);
      const int steps = traffic == std::string("1") ? 1500 : 8000;
      ASSERT_NO_FATAL_FAILURE(follower.play(steps, 6, name_of(options)));
      dropped += follower.dropped;
      satisfied += follower.satisfied;
    }
  }
  EXPECT_GT(dropped, 100);
  EXPECT_GT(satisfied, 100);
}

// Requests with so much bandwidth that links fill up: detours, and centres that cannot be reached.
TEST(SfcTwin, PaperModeWithFullLinks) {
  for (const char* centres : {"3", "4", "5", "8"}) {
    for (const double factor : {5.0, 14.0, 80.0}) {
      const EnvOptions options = {{"mode", "paper"}, {"centres", centres}, {"traffic", "0.1"},
                                  {"interval", "1"}, {"rounds", "12"},     {"max_steps", "2500"}};
      SfcRules rules = sfc_rules_of(options);
      for (SfcType& type : rules.types) type.bandwidth = std::min(factor * type.bandwidth, 1000.0);
      Follower follower(rules, 6);
      ASSERT_NO_FATAL_FAILURE(
          follower.play(5000, 6, name_of(options) + std::to_string(factor) + " "));
      EXPECT_GT(follower.rerouted, 0) << centres << " " << factor;
    }
  }
}

reference::Sfc legacy_world() {
  reference::Sfc sfc(sfc_rules_of({{"centres", "2"}}));
  sfc.legacy_tables = true;
  reference::Sfc::Centre centre;
  centre.cpu = centre.all_cpu = 119;
  sfc.set_centres({centre, centre});
  sfc.rounds_done = 1;
  return sfc;
}

int busy_instances(const reference::Sfc& sfc) {
  int busy = 0;
  for (const auto& centre : sfc.centres) {
    busy = std::accumulate(centre.busy.begin(), centre.busy.end(), busy);
  }
  return busy;
}

int placements(const reference::Sfc& sfc) {
  int placed = 0;
  for (const auto& request : sfc.active) placed += static_cast<int>(request->hosts.size());
  return placed;
}

// The original's tables, as the specification describes them.
TEST(SfcLegacyTables, FinishAChainWithoutItsLastFunction) {
  reference::Sfc sfc = legacy_world();
  sfc.arrive(kCg, 0, 1, 0, 0);
  for (const int function : {kNat, kNat, kFw, kVoc}) EXPECT_EQ(sfc.apply(kAllocate + function), 0);
  EXPECT_EQ(sfc.apply(kAllocate + kWo), 2);
  EXPECT_EQ(sfc.satisfied[kCg], 1);
  EXPECT_EQ(sfc.centres[0].installed[kIdps], 0);
  EXPECT_EQ(busy_instances(sfc), placements(sfc));

  // A finished request is given one more function, which is never released.
  EXPECT_EQ(sfc.apply(kAllocate + kNat), 0);
  EXPECT_TRUE(sfc.active.empty());
  EXPECT_NE(busy_instances(sfc), placements(sfc));
}

TEST(SfcLegacyTables, HideOtherCandidates) {
  reference::Sfc sfc = legacy_world();
  sfc.arrive(kVs, 0, 1, 0, 0);
  EXPECT_EQ(sfc.apply(kAllocate + kNat), 0);
  sfc.arrive(kInd, 0, 1, 0, 0);  // far more urgent
  EXPECT_EQ(sfc.candidate(kNat)->id, 0);
  sfc.legacy_tables = false;
  EXPECT_EQ(sfc.candidate(kNat)->id, 1);
}

TEST(SfcLegacyTables, AreNotInTheWorld) {
  OneSfc sfc;
  sfc.place({centre_at(0), centre_at(0)}, {{kCg, 0, 1}});
  EXPECT_EQ(sfc.step(kAllocate + kNat).reward, 0);
  EXPECT_EQ(sfc.step(kAllocate + kNat).reward, -1);
}

}  // namespace
}  // namespace hotloop
