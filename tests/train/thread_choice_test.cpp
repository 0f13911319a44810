#include "train/thread_choice.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/system.hpp"
#include "tests/train/variants.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

TrainSpec spec_with_threads(int threads) {
  TrainSpec spec = load_spec("cartpole_dqn");
  spec.threads = threads;
  return spec;
}

// Plays rounds that take as long as `round(threads)` says, in seconds, until there is a choice.
template <class Round>
int chosen(ThreadChoice& choice, Round&& round) {
  const auto start = std::chrono::steady_clock::now();
  while (choice.reason().empty()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) return 0;
    choice.begin_round();
    std::this_thread::sleep_for(std::chrono::duration<double>(round(choice.crew().team.size())));
    choice.end_round(true);
  }
  return choice.crew().team.size();
}

TEST(ThreadChoice, AGivenNumberIsUsed) {
  ThreadChoice choice(spec_with_threads(3), true);
  EXPECT_EQ(choice.crew().team.size(), 3);
  EXPECT_EQ(choice.reason(), "");
}

TEST(ThreadChoice, OneThreadIfThereIsNoWorkForSeveral) {
  ThreadChoice choice(spec_with_threads(0), false);
  EXPECT_EQ(choice.crew().team.size(), 1);
  EXPECT_EQ(choice.reason(), "1 thread: there is no work for several");
}

TEST(ThreadChoice, TheFastestStays) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core";
  ThreadChoice faster(spec_with_threads(0), true), slower(spec_with_threads(0), true);
  EXPECT_EQ(chosen(faster, [](int threads) { return threads == 2 ? 4e-3 : 8e-3; }), 2);
  EXPECT_EQ(chosen(slower, [](int threads) { return threads == 1 ? 4e-3 : 8e-3; }), 1);
  EXPECT_NE(slower.reason().find("1 of "), std::string::npos) << slower.reason();
}

TEST(ThreadChoice, RoundsWithoutUpdatesDoNotCount) {
  ThreadChoice choice(spec_with_threads(0), true);
  for (int i = 0; i < 10; ++i) {
    choice.begin_round();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    choice.end_round(false);
    EXPECT_EQ(choice.crew().team.size(), 1);
  }
}

// The numbers of threads that are tried leave no trace in the result, pipelined or not.
TEST(ThreadChoice, LeavesTheResultAsItIs) {
  for (const bool pipelined : {false, true}) {
    TrainSpec spec = load_spec("cartpole_dqn_zoo");
    spec.learn.pipelined = pipelined;
    spec.run.steps = 25'000;  // enough learning to choose
    const auto parameters = [&](int threads) {
      spec.threads = threads;
      Trainer trainer(spec);
      while (!trainer.done()) trainer.round();
      EXPECT_EQ(trainer.threads().reason().empty(), threads > 0) << trainer.threads().reason();
      return std::vector<float>(trainer.network().online().begin(),
                                trainer.network().online().end());
    };
    EXPECT_EQ(parameters(1), parameters(0));
  }
}

}  // namespace
}  // namespace hotloop
