#include "core/stop_signal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace hotloop {
namespace {

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

// Signals are state of the whole process, so each case runs in its own.
template <class Body>
void in_a_process(const Body& body) {
  EXPECT_EXIT(
      {
        reset_all();
        body();
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

constexpr useconds_t kLater = 600'000;  // microseconds: clearly another request

TEST(StopSignal, EachSignalSetsTheFlagAndTheExitCode) {
  for (const int number : StopSignal::kSignals) {
    in_a_process([&] {
      const StopSignal stop;
      require(!stop.requested() && stop_signal() == 0);
      raise(number);
      require(stop.requested() && stop_exit_code() == 128 + number);
    });
  }
}

TEST(StopSignal, TheFirstSignalIsTheReason) {
  in_a_process([&] {
    const StopSignal stop;
    raise(SIGUSR1);
    raise(SIGTERM);
    require(stop_signal() == SIGUSR1);
  });
}

TEST(StopSignal, TheSameSignalTwiceAtOnceIsOneRequest) {
  in_a_process([&] {
    const StopSignal stop;
    for (const int number : StopSignal::kSignals) {
      raise(number);
      raise(number);
    }
  });
}

TEST(StopSignal, WarningsAreNeverFatalAndNorIsAnotherSignal) {
  in_a_process([&] {
    const StopSignal stop;
    const int warnings[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    for (const int number : warnings) raise(number);
    usleep(kLater);
    for (const int number : warnings) raise(number);
    raise(SIGTERM);  // for the first time: a batch system follows its warning up
  });
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
    in_a_process([&] {
      std::signal(number, SIG_IGN);
      {
        const StopSignal stop;
        raise(number);
        require(!stop.requested() && action_of(number) == SIG_IGN);
      }
      require(action_of(number) == SIG_IGN);
    });
  }
}

int calls = 0;
extern "C" void own_handler(int) { ++calls; }

// As in a Python program that uses SIGUSR1 itself.
TEST(StopSignal, TheProgramsOwnHandlersStay) {
  in_a_process([&] {
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
  });
}

TEST(StopSignal, NestedListenersShareTheFlag) {
  in_a_process([&] {
    const StopSignal outer;
    {
      const StopSignal inner;
      raise(SIGTERM);
      require(inner.requested());
    }
    require(outer.requested() && action_of(SIGTERM) != SIG_DFL);
  });
}

}  // namespace
}  // namespace hotloop
