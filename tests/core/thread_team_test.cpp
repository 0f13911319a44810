#include "core/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hotloop {
namespace {

TEST(ThreadTeam, EveryIndexIsDoneOnceInContiguousChunksInWorkerOrder) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (int count : {0, 1, 2, 7, 8, 1000}) {
      std::vector<int> done(count, 0), worker_of(count, -1);
      team.run(count, [&](int begin, int end, int worker) {
        for (int i = begin; i < end; ++i) ++done[i], worker_of[i] = worker;
      });
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(done[i], 1) << i << " of " << count << " with " << threads;
        ASSERT_GE(worker_of[i], i > 0 ? worker_of[i - 1] : 0);
      }
    }
  }
}

// Rounds follow immediately or after a pause in which helpers fall asleep. A lost wake-up hangs.
TEST(ThreadTeam, ManyRounds) {
  ThreadTeam team(4);
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 20'000; ++round) {
    team.run(4, [&](int begin, int end, int) { sum += end - begin; });
    if (round % 5'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(sum, 4 * 20'000);
}

// More threads than cores: helpers sleep, and most of these tiny rounds are over before they wake.
// Each chunk is done once, under its worker's number, whichever thread does it.
TEST(ThreadTeam, TheCallerRunsChunksThatNoHelperHasStarted) {
  constexpr int kThreads = 16, kRounds = 5'000;
  ThreadTeam team(kThreads);
  std::vector<int> done(kThreads, 0), by_caller(kThreads, 0);
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < kRounds; ++round) {
    team.run(kThreads, [&](int begin, int end, int worker) {
      EXPECT_EQ(begin, worker);
      EXPECT_EQ(end, worker + 1);
      ++done[worker];
      by_caller[worker] += std::this_thread::get_id() == caller;
    });
  }
  for (int worker = 0; worker < kThreads; ++worker) EXPECT_EQ(done[worker], kRounds);
  EXPECT_EQ(by_caller[0], kRounds);
  EXPECT_GT(by_caller[kThreads - 1], 0);
}

TEST(ThreadTeam, ExceptionsOfABodyReachTheCaller) {
  for (int threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    for (int bad = 0; bad < 4; ++bad) {
      std::atomic<int> done{0};
      const auto body = [&](int begin, int end, int) {
        for (int i = begin; i < end; ++i) {
          if (i >= bad) throw std::runtime_error(std::to_string(i));
          ++done;
        }
      };
      try {
        team.run(4, body);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), std::to_string(bad));  // the first of several
      }
      team.run(4, [&](int begin, int end, int) { done += end - begin; });  // it still works
      EXPECT_GE(done, 4);
    }
  }
}

TEST(ThreadTeam, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadTeam team(3);
  SUCCEED();
}

}  // namespace
}  // namespace hotloop
