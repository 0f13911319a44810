#include "core/stop_signal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace hotloop {
namespace {

// Signals are state of the whole process, so each case runs in its own.
#define IN_A_PROCESS(body, expected) \
  EXPECT_EXIT(                       \
      {                              \
        body;                        \
        _exit(0);                    \
      },                             \
      ::testing::ExitedWithCode(expected), "")

void require(bool condition) {
  if (!condition) _exit(1);
}

void (*action_of(int number))(int) {
  struct sigaction found {};
  sigaction(number, nullptr, &found);
  return found.sa_handler;
}

void reset_all() {
  for (const int number : StopSignal::kSignals) std::signal(number, SIG_DFL);
}

constexpr useconds_t kLater = 600'000;  // microseconds: clearly another request

TEST(StopSignal, EachSignalSetsTheFlagAndTheExitCode) {
  for (const int number : StopSignal::kSignals) {
    IN_A_PROCESS(
        {
          reset_all();
          const StopSignal stop;
          require(!stop.requested() && stop_signal() == 0);
          raise(number);
          require(stop.requested() && stop_exit_code() == 128 + number);
        },
        0);
  }
}

TEST(StopSignal, TheFirstSignalIsTheReason) {
  IN_A_PROCESS(
      {
        reset_all();
        const StopSignal stop;
        raise(SIGUSR1);
        raise(SIGTERM);
        require(stop_signal() == SIGUSR1);
      },
      0);
}

TEST(StopSignal, TheSameSignalTwiceAtOnceIsOneRequest) {
  IN_A_PROCESS(
      {
        reset_all();
        const StopSignal stop;
        for (const int number : StopSignal::kSignals) {
          raise(number);
          raise(number);
        }
      },
      0);
}

TEST(StopSignal, WarningsAreNeverFatalAndNorIsAnotherSignal) {
  IN_A_PROCESS(
      {
        reset_all();
        const StopSignal stop;
        const int warnings[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
        for (const int number : warnings) raise(number);
        usleep(kLater);
        for (const int number : warnings) raise(number);
        raise(SIGTERM);  // for the first time: a batch system follows its warning up
      },
      0);
}

TEST(StopSignal, InsistingStopsAtOnce) {
  EXPECT_EXIT(
      {
        reset_all();
        const StopSignal stop;
        raise(SIGTERM);
        usleep(kLater);
        raise(SIGTERM);
        _exit(1);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignal, AnIgnoredSignalStaysIgnored) {
  for (const int number : StopSignal::kSignals) {
    IN_A_PROCESS(
        {
          reset_all();
          std::signal(number, SIG_IGN);
          {
            const StopSignal stop;
            raise(number);
            require(!stop.requested() && action_of(number) == SIG_IGN);
          }
          require(action_of(number) == SIG_IGN);
        },
        0);
  }
}

int calls = 0;
extern "C" void own_handler(int) { ++calls; }

// As in a Python program that uses SIGUSR1 itself.
TEST(StopSignal, TheProgramsOwnHandlersStay) {
  IN_A_PROCESS(
      {
        reset_all();
        const int own[] = {SIGUSR1, SIGUSR2, SIGQUIT, SIGXCPU, SIGINT};
        for (const int number : own) std::signal(number, own_handler);
        {
          const StopSignal stop;
          for (const int number : own) {
            if (number != SIGINT) raise(number);
          }
          require(calls == 4 && !stop.requested());
          raise(SIGINT);
          require(calls == 4 && stop.requested());
        }
        for (const int number : own) require(action_of(number) == own_handler);
        raise(SIGINT);
        require(calls == 5);
      },
      0);
}

TEST(StopSignal, NestedListenersShareTheFlag) {
  IN_A_PROCESS(
      {
        reset_all();
        const StopSignal outer;
        {
          const StopSignal inner;
          raise(SIGTERM);
          require(inner.requested());
        }
        require(outer.requested() && action_of(SIGTERM) != SIG_DFL);
      },
      0);
}

}  // namespace
}  // namespace hotloop
