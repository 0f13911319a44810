#include "core/stop_signal.hpp"

namespace hotloop {
namespace {

std::atomic<bool> is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

int listeners = 0;
struct sigaction others_interrupt {
}, others_terminate{};  // what a second signal is for

extern "C" void on_signal(int number) {
  is_requested.store(true, std::memory_order_relaxed);
  sigaction(number, number == SIGINT ? &others_interrupt : &others_terminate, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  if (listeners++ > 0) return;
  is_requested = false;
  sigaction(SIGINT, nullptr, &before_interrupt_);
  sigaction(SIGTERM, nullptr, &before_terminate_);
  others_interrupt = before_interrupt_;
  others_terminate = before_terminate_;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopSignal::~StopSignal() {
  if (--listeners > 0) return;
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
}

const std::atomic<bool>& StopSignal::requested() const { return is_requested; }

const std::atomic<bool>& stop_requested() {
  static const StopSignal signal;
  return signal.requested();
}

}  // namespace hotloop
