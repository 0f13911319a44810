#include "core/stop_signal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <string_view>

namespace hotloop {
namespace {

using Actions = std::array<struct sigaction, StopSignal::kSignals.size()>;

std::atomic<bool> is_requested{false};
std::atomic<int> first_signal{0};
std::array<std::atomic<std::int64_t>, StopSignal::kSignals.size()> first_times{};  // 0 = never
std::atomic<bool> acknowledges{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

std::mutex mutex;  // guards listeners, and installing handlers
int listeners = 0;
Actions previous{};  // before the first listener

constexpr std::string_view kAcknowledgement =
    "\nstopping as soon as everything is saved; the same signal again stops at once\n";

std::int64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000 + 1;  // 0 means never
}

// Only a person or `kill` insists. Batch systems and the kernel repeat their warnings, and a closed
// terminal sends SIGHUP from the shell and from the kernel.
bool may_insist(int number) { return number == SIGINT || number == SIGQUIT || number == SIGTERM; }

// `timeout` sends its signal twice in a row, to the process and to its group.
constexpr std::int64_t kSameRequest = 500;  // milliseconds

extern "C" void on_signal(int number) {
  const int error = errno;
  const auto which = std::find(StopSignal::kSignals.begin(), StopSignal::kSignals.end(), number) -
                     StopSignal::kSignals.begin();
  const std::int64_t now = milliseconds();
  std::int64_t before = 0;
  if (first_times[which].compare_exchange_strong(before, now)) {
    int none = 0;
    first_signal.compare_exchange_strong(none, number);
    if (!is_requested.exchange(true) && acknowledges) {
      [[maybe_unused]] const ssize_t written =
          write(STDERR_FILENO, kAcknowledgement.data(), kAcknowledgement.size());
    }
  } else if (may_insist(number) && now - before > kSameRequest) {
    sigaction(number, &previous[which], nullptr);
    raise(number);  // delivered when this handler returns
  }
  errno = error;
}

bool is_ours(int number, const struct sigaction& found) {
  if (found.sa_handler == SIG_IGN) return false;
  return found.sa_handler == SIG_DFL || number == SIGINT || number == SIGTERM || number == SIGHUP;
}

}  // namespace

StopSignal::StopSignal(bool acknowledge) {
  const std::lock_guard lock(mutex);
  acknowledges = acknowledges || acknowledge;
  if (listeners++ > 0) return;
  is_requested = false;
  first_signal = 0;
  for (auto& time : first_times) time = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    if (is_ours(kSignals[i], previous[i])) sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  const std::lock_guard lock(mutex);
  if (--listeners > 0) return;
  acknowledges = false;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (is_ours(kSignals[i], previous[i])) sigaction(kSignals[i], &previous[i], nullptr);
  }
}

const std::atomic<bool>& StopSignal::requested() const { return is_requested; }

const std::atomic<bool>& stop_requested() {
  static const StopSignal signal(true);
  return signal.requested();
}

int stop_signal() { return first_signal; }
int stop_exit_code() { return 128 + stop_signal(); }

Stopped::Stopped(const std::string& meanwhile)
    : RunError(fmt::format("stopped by signal {} while {}", stop_signal(), meanwhile)),
      signal_(stop_signal()) {}

}  // namespace hotloop
