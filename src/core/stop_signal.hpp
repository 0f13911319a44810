// Signals that ask the program to stop set a flag: the run saves a checkpoint and stops.
//
//   SIGINT, SIGQUIT          keys of a terminal
//   SIGTERM                  kill, timeout, a system that shuts down
//   SIGHUP                   a closed terminal
//   SIGUSR1, SIGUSR2, SIGXCPU  warnings of batch systems before a time limit
//
// A signal that the parent process ignores stays ignored (nohup; Ctrl-C for background jobs of
// scripts). One that the embedding program handles stays with it, too, except SIGINT, SIGTERM and
// SIGHUP: a handler in Python would run only after the training.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <string>

#include <hotloop/error.hpp>

namespace hotloop {

// Listens while it exists. Nested objects share the flag: if one training run starts another in a
// callback, a signal stops both.
class StopSignal {
 public:
  // With `acknowledge`, the first signal prints a line on standard error.
  explicit StopSignal(bool acknowledge = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  const std::atomic<bool>& requested() const;

  static constexpr std::array kSignals = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                          SIGUSR1, SIGUSR2, SIGXCPU};
};

const std::atomic<bool>& stop_requested();  // listens from the first call to the end of the program
int stop_signal();     // the first signal that asked to stop, since somebody listens; 0 = none
int stop_exit_code();  // after a stop was requested: 128 + signal number, as in shells

// Thrown where the program waits for another one and a signal asks it to stop.
class Stopped : public RunError {
 public:
  explicit Stopped(const std::string& meanwhile);
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace hotloop
