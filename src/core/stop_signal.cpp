#include "core/stop_signal.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace hotloop {
namespace {

std::atomic<bool> is_requested{false};
std::atomic<int> last_signal{0};
std::atomic<bool> acknowledges{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

int listeners = 0;
std::array<struct sigaction, StopSignal::kSignals.size()> previous{};  // for a second signal

constexpr std::string_view kAcknowledgement =
    "\nstopping as soon as everything is saved; a second signal stops at once\n";

extern "C" void on_signal(int number) {
  const auto which = std::find(StopSignal::kSignals.begin(), StopSignal::kSignals.end(), number) -
                     StopSignal::kSignals.begin();
  sigaction(number, &previous[which], nullptr);
  last_signal.store(number, std::memory_order_relaxed);
  is_requested.store(true, std::memory_order_relaxed);
  if (!acknowledges.load(std::memory_order_relaxed)) return;
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kAcknowledgement.data(), kAcknowledgement.size());
}

}  // namespace

StopSignal::StopSignal(bool acknowledge) {
  if (listeners++ > 0) return;
  is_requested = false;
  acknowledges = acknowledge;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  previous = before_;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    const bool nohup = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!nohup) sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  if (--listeners > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>& StopSignal::requested() const { return is_requested; }

const std::atomic<bool>& stop_requested() {
  static const StopSignal signal(true);
  return signal.requested();
}

int stop_exit_code() { return 128 + last_signal.load(std::memory_order_relaxed); }

}  // namespace hotloop
