// Ctrl-C, SIGTERM and SIGHUP (a closed terminal) as a flag: the run saves a checkpoint and stops. A second
// signal does what it would do without us.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace hotloop {

// Listens while it lives, but leaves a SIGHUP alone that was ignored before (nohup). One within another
// listens for the same signals: a training inside another's callback ends both. Only one thread may
// have them.
class StopSignal {
 public:
  // With `acknowledge` the first signal is answered by a line on standard error.
  explicit StopSignal(bool acknowledge = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  const std::atomic<bool>& requested() const;

  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

const std::atomic<bool>& stop_requested();  // of one that listens from the first call to the end
int stop_exit_code();  // after it was requested: 128 and the signal's number, as shells have it

}  // namespace hotloop
