// Ctrl-C, SIGTERM and SIGHUP (a closed terminal) set a flag: the run saves a checkpoint and stops.
// A second signal goes to the previous handler.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace hotloop {

// Listens while it exists, except for a SIGHUP that was already ignored (nohup). Nested objects
// share the flag: if one training run starts another in a callback, a signal stops both. Use from
// one thread only.
class StopSignal {
 public:
  // With `acknowledge`, the first signal prints a line on standard error.
  explicit StopSignal(bool acknowledge = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  const std::atomic<bool>& requested() const;

  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

const std::atomic<bool>& stop_requested();  // listens from the first call to the end of the program
int stop_exit_code();  // after a stop was requested: 128 + signal number, as in shells

}  // namespace hotloop
