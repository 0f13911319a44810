#include "memory/demonstrations.hpp"

#include <gtest/gtest.h>
#include <hotloop/error.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "memory/replay.hpp"
#include "reference/replay.hpp"
#include "tests/memory/expect_row.hpp"
#include "tests/memory/random_demonstrations.hpp"
#include "tests/memory/random_play.hpp"

namespace hotloop {
namespace {

std::vector<float> list(std::span<const float> values) { return {values.begin(), values.end()}; }
std::vector<int> list(std::span<const std::uint8_t> flags) { return {flags.begin(), flags.end()}; }

// Three steps that terminate, then two that are truncated. Observations are 10, 11, ..., rewards 0,
// 1, ...; the final observations are 90 and 91.
Demonstrations worked_demonstrations() {
  Demonstrations d;
  d.kind = {.obs = 1, .actions = 9, .action_size = 0, .masks = false};
  d.obs = {10, 11, 12, 13, 14};
  d.actions = {5, 6, 7, 8, 4};
  d.rewards = {0, 1, 2, 3, 4};
  d.terminated = {0, 0, 1, 0, 0};
  d.truncated = {0, 0, 0, 0, 1};
  d.final_obs = {90, 91};
  return d;
}

// Two streams of three steps: 0 1 2 and 2 3 4.
TEST(Demonstrations, WorkedStreams) {
  const Demonstrations d = worked_demonstrations();
  const std::vector<float> live = {70, 71};
  DemonstrationStreams streams(d, 2, false, live, {});
  EXPECT_EQ(streams.steps(), 3);
  EXPECT_EQ(list(streams.first_obs()), (std::vector<float>{10, 12}));
  Transitions t = streams.next();
  EXPECT_EQ(t.actions[0], 5);
  EXPECT_EQ(t.actions[1], 7);
  EXPECT_EQ(list(t.rewards), (std::vector<float>{0, 2}));
  EXPECT_EQ(list(t.terminated), (std::vector<int>{0, 1}));
  EXPECT_EQ(list(t.truncated), (std::vector<int>{0, 0}));
  EXPECT_EQ(list(t.next_obs), (std::vector<float>{11, 13}));
  t = streams.next();
  EXPECT_EQ(list(t.rewards), (std::vector<float>{1, 3}));
  EXPECT_EQ(list(t.terminated), (std::vector<int>{0, 0}));
  EXPECT_EQ(list(t.next_obs), (std::vector<float>{12, 14}));
  ASSERT_FALSE(streams.done());
  t = streams.next();
  EXPECT_TRUE(streams.done());
  EXPECT_EQ(list(t.rewards), (std::vector<float>{2, 4}));
  EXPECT_EQ(list(t.terminated), (std::vector<int>{1, 0}));
  EXPECT_EQ(list(t.truncated), (std::vector<int>{0, 1}));
  EXPECT_EQ(list(t.next_obs), live);
  EXPECT_EQ(t.final_obs[1], 91);
}

// Four streams of two steps: 0 1, 1 2, 2 3 and 3 4. The first and the third are cut, and keep the
// observation that follows.
TEST(Demonstrations, AStreamThatIsCutEndsByTruncation) {
  const Demonstrations d = worked_demonstrations();
  const std::vector<float> live = {70, 71, 72, 73};
  for (const bool truncation_ends : {false, true}) {
    DemonstrationStreams streams(d, 4, truncation_ends, live, {});
    EXPECT_EQ(list(streams.first_obs()), (std::vector<float>{10, 11, 12, 13}));
    streams.next();
    const Transitions t = streams.next();
    EXPECT_EQ(list(t.rewards), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(list(t.terminated), (std::vector<int>{0, 1, 0, truncation_ends}));
    EXPECT_EQ(list(t.truncated), (std::vector<int>{1, 0, 1, !truncation_ends}));
    EXPECT_EQ(list(t.next_obs), live);
    EXPECT_EQ(t.final_obs[0], 12);
    EXPECT_EQ(t.final_obs[2], 14);
    EXPECT_EQ(t.final_obs[3], 91);
  }
}

TEST(Demonstrations, MoreLanesThanTransitionsRepeatThem) {
  const Demonstrations d = worked_demonstrations();
  const std::vector<float> live(8, 70.0f);
  DemonstrationStreams streams(d, 8, false, live, {});
  EXPECT_EQ(streams.steps(), 1);
  EXPECT_EQ(list(streams.next().rewards), (std::vector<float>{0, 0, 1, 1, 2, 3, 3, 4}));
}

// Truncated after steps 2, 4 and 9 of one stream, and cut elsewhere.
TEST(Demonstrations, TheGapIsTheSmallestDistanceOfTwoTruncations) {
  Demonstrations d;
  d.kind = {.obs = 1, .actions = 1, .action_size = 0, .masks = false};
  d.obs.resize(12), d.rewards.resize(12), d.actions.resize(12);
  d.terminated.resize(12), d.truncated.resize(12), d.final_obs.resize(4);
  d.truncated[2] = d.truncated[4] = d.truncated[9] = d.terminated[11] = 1;
  const std::vector<float> live(12);
  const auto gap = [&](int lanes, bool truncation_ends) {
    return DemonstrationStreams(d, lanes, truncation_ends, std::span(live).first(lanes), {})
        .truncation_gap();
  };
  EXPECT_EQ(gap(1, false), 2);
  EXPECT_EQ(gap(1, true), 12) << "the only stream is not cut";
  EXPECT_EQ(gap(2, false), 1) << "0 to 5, cut after 4";
  EXPECT_EQ(gap(2, true), 6);
  EXPECT_EQ(gap(3, false), 1) << "0 to 3, cut after 2";
  EXPECT_EQ(gap(12, false), 1);
}

TransitionKind kind_of(const ReplayShape& s) {
  return {.obs = s.obs,
          .actions = s.actions,
          .action_size = s.action_size,
          .masks = s.masks,
          .action_low = std::vector<float>(s.action_size, -2.0f),
          .action_high = std::vector<float>(s.action_size, 3.0f)};
}

// What a stream holds, written down without DemonstrationStreams.
struct PlainStream {
  std::int64_t first, steps;
};
std::vector<PlainStream> plain_streams(std::int64_t transitions, int lanes) {
  std::vector<PlainStream> streams;
  const std::int64_t steps = (transitions + lanes - 1) / lanes;
  for (std::int64_t i = 0; i < lanes; ++i) streams.push_back({i * transitions / lanes, steps});
  return streams;
}

template <class T>
void put(std::vector<T>& rows, int lane, const std::vector<T>& from, std::int64_t at, int width) {
  std::copy_n(from.begin() + at * width, width, rows.begin() + lane * width);
}

// Pushes the same transitions by hand.
void push_by_hand(const Demonstrations& d, const ReplayShape& s, const RandomPlay& live,
                  reference::Replay& to) {
  const std::vector<PlainStream> streams = plain_streams(d.size(), s.lanes);
  std::vector<std::int64_t> episode_of(d.size());
  for (std::int64_t at = 1; at < d.size(); ++at) {
    episode_of[at] = episode_of[at - 1] + (d.terminated[at - 1] + d.truncated[at - 1]);
  }
  RandomPlay row(s, 0);  // only as memory
  for (int n = 0; n < s.lanes; ++n) {
    put(row.obs, n, d.obs, streams[n].first, s.obs);
    if (s.masks) put(row.mask, n, d.mask, streams[n].first, s.actions);
  }
  to.begin(row.obs, row.mask);
  for (std::int64_t t = 0; t < streams[0].steps; ++t) {
    for (int n = 0; n < s.lanes; ++n) {
      const std::int64_t at = streams[n].first + t;
      const bool last = t + 1 == streams[0].steps, ends = d.terminated[at] + d.truncated[at] > 0;
      row.rewards[n] = d.rewards[at];
      if (s.action_size == 0) row.actions[n] = d.actions[at];
      put(row.continuous_actions, n, d.continuous_actions, at, s.action_size);
      row.terminated[n] = d.terminated[at];
      row.truncated[n] = d.truncated[at] == 1 || (last && !ends);
      put(row.final_obs, n, ends ? d.final_obs : d.obs, ends ? episode_of[at] : at + 1, s.obs);
      put(row.obs, n, last ? live.obs : d.obs, last ? n : at + 1, s.obs);
      if (!s.masks) continue;
      put(row.final_mask, n, ends ? d.final_mask : d.mask, ends ? episode_of[at] : at + 1,
          s.actions);
      put(row.mask, n, last ? live.mask : d.mask, last ? n : at + 1, s.actions);
    }
    to.push({row.actions,
             row.rewards,
             row.terminated,
             row.truncated,
             row.obs,
             row.mask,
             row.final_obs,
             row.final_mask,
             {},
             row.continuous_actions});
  }
}

void begin_after(const Demonstrations& d, const RandomPlay& live, Replay& replay) {
  DemonstrationStreams streams(d, replay.shape().lanes, false, live.obs, live.mask);
  replay.expect_demonstrations(streams.steps(), streams.truncation_gap());
  replay.begin(streams.first_obs(), streams.first_mask());
  while (!streams.done()) replay.push(streams.next());
}

// Then training goes on until the demonstrations are overwritten. The environment truncates less
// often than the demonstrations do.
TEST(Demonstrations, TheReplayEqualsOneThatWasPushedByHand) {
  std::uint32_t round = 0;
  for (const int lanes : {1, 3, 8}) {
    for (const int steps : {1, 3}) {
      for (const bool masks : {false, true}) {
        for (const int max_steps : {0, 9}) {
          SCOPED_TRACE(testing::Message() << "lanes " << lanes << ", steps " << steps << ", masks "
                                          << masks << ", max_steps " << max_steps);
          const ReplayShape shape{.lanes = lanes,
                                  .obs = 3,
                                  .actions = masks || round % 2 == 0 ? 4 : 0,
                                  .action_size = masks || round % 2 == 0 ? 0 : 2,
                                  .masks = masks,
                                  .max_steps = max_steps,
                                  .demonstrations = true,
                                  .capacity = 160,
                                  .steps = steps,
                                  .gamma = 0.9};
          Demonstrations d = random_demonstrations(kind_of(shape), 30, ++round);
          RandomPlay play(shape, round);
          play.next_value = 10'000;
          Replay fast(shape, 16);
          reference::Replay slow(shape);
          push_by_hand(d, shape, play, slow);
          begin_after(d, play, fast);
          for (int t = 0; t < 60; ++t) {
            ASSERT_EQ(fast.size(), static_cast<std::int64_t>(slow.size()));
            fast.sample(1, 16, 9, t);
            Rng draws(9, Purpose::replay, 0, t);
            for (int i = 0; i < 16; ++i) {
              ASSERT_NO_FATAL_FAILURE(expect_row(fast.batch(0), i, shape, slow.draw(draws)))
                  << "step " << t;
            }
            const Transitions step = play.step();
            fast.push(step);
            slow.push(step);
          }
        }
      }
    }
  }
}

// The window of n steps from transition `at`, which ends at the end of its episode or stream.
struct PlainWindow {
  double reward = 0, discount = 1;
  std::vector<float> next;
};
PlainWindow plain_window(const Demonstrations& d, std::int64_t at, std::int64_t stream_end, int n) {
  PlainWindow w;
  std::int64_t episode = 0;
  for (std::int64_t i = 0; i < at; ++i) episode += d.terminated[i] + d.truncated[i];
  const auto row = [&](const std::vector<float>& rows, std::int64_t i) {
    return std::vector<float>(rows.begin() + i * d.kind.obs, rows.begin() + (i + 1) * d.kind.obs);
  };
  for (int k = 0; k < n && at < stream_end; ++k, ++at) {
    w.reward += w.discount * d.rewards[at];
    w.discount *= 0.9;
    if (d.terminated[at] != 0) w.discount = 0;
    if (d.terminated[at] + d.truncated[at] > 0) {
      w.next = row(d.final_obs, episode);
      return w;
    }
    w.next = row(d.obs, at + 1);
  }
  return w;
}

TEST(Demonstrations, EveryTransitionThatIsDrawnIsOneOfThem) {
  for (const int steps : {1, 3}) {
    for (const int lanes : {1, 4, 7}) {
      const ReplayShape shape{.lanes = lanes,
                              .obs = 2,
                              .actions = 3,
                              .max_steps = 50,
                              .demonstrations = true,
                              .capacity = 400,
                              .steps = steps,
                              .gamma = 0.9,
                              .prioritised = steps == 3};
      const Demonstrations d = random_demonstrations(kind_of(shape), 40, lanes);
      const RandomPlay live(shape, 1);
      Replay replay(shape, 4'000);
      begin_after(d, live, replay);
      replay.sample(1, 4'000, 1, 0);
      std::set<std::int64_t> seen;
      for (int i = 0; i < 4'000; ++i) {
        const Batch b = replay.batch(0);
        const auto place = std::find(d.obs.begin(), d.obs.end(), b.obs[i * 2]);
        ASSERT_NE(place, d.obs.end());
        const std::int64_t at = (place - d.obs.begin()) / 2;
        seen.insert(at);
        ASSERT_EQ(b.obs[i * 2 + 1], d.obs[at * 2 + 1]);
        ASSERT_EQ(b.actions[i], d.actions[at]);
        // It may be in two streams, at the end of one.
        bool found = false;
        for (const PlainStream& stream : plain_streams(d.size(), lanes)) {
          if (at < stream.first || at >= stream.first + stream.steps) continue;
          const PlainWindow w = plain_window(d, at, stream.first + stream.steps, steps);
          found |=
              std::abs(b.rewards[i] - w.reward) < 1e-5 * w.reward &&
              std::abs(b.discounts[i] - w.discount) < 1e-6 &&
              (w.discount == 0 || std::equal(w.next.begin(), w.next.end(), b.next_obs + i * 2));
        }
        ASSERT_TRUE(found) << "transition " << at;
      }
      EXPECT_EQ(std::ssize(seen), d.size()) << "all of them are there";
    }
  }
}

// Final observations of demonstrations need a place each here, those of the environment do not.
TEST(Demonstrations, TheReplayKeepsAPlaceForEveryFinalObservation) {
  const ReplayShape shape{.lanes = 2,
                          .obs = 1,
                          .actions = 2,
                          .max_steps = 100,
                          .demonstrations = true,
                          .capacity = 200};
  const auto finals = [](Replay& replay) {
    std::size_t count = 0;
    replay.visit([&](std::string_view name, auto array, const Limits&) {
      if (name == "final_obs") count = array.size();
    });
    return count;
  };
  Replay replay(shape, 1);
  EXPECT_EQ(finals(replay), 2u * 3);
  replay.expect_demonstrations(60, 5);
  EXPECT_EQ(finals(replay), 2u * 22);
  EXPECT_EQ(replay.shape().max_steps, 5);
  replay.expect_demonstrations(60, 500);
  EXPECT_EQ(replay.shape().max_steps, 100) << "the environment's own are no farther apart";
  EXPECT_THROW(replay.expect_demonstrations(101, 5), UsageError);
}

}  // namespace
}  // namespace hotloop
