// Ctrl-C and SIGTERM as a flag: the run saves a checkpoint and stops. A second signal does what it
// would do without us.
#pragma once

#include <atomic>
#include <csignal>

namespace hotloop {

// Listens while it lives. One within another listens for the same signal: a training inside another's
// callback ends both. Only one thread may have them.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  const std::atomic<bool>& requested() const;

 private:
  struct sigaction before_interrupt_ {
  }, before_terminate_{};
};

const std::atomic<bool>& stop_requested();  // of one that listens from the first call to the end

}  // namespace hotloop
