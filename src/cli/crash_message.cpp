#include "cli/crash_message.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include "core/note.hpp"
#include "core/text.hpp"
#include "env/check/doing.hpp"
#include "env/check/guarded_memory.hpp"
#include "env/file/world_file.hpp"

namespace hotloop {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

const pid_t owner = getpid();  // not a forked trial or host
std::atomic<bool> is_reported{false};
std::array<char, 1 << 16> spare_stack;

// Of the run in progress; written before anything can crash, and read by signal handlers.
std::atomic<bool> is_running{false};
std::string env_file, run_folder, advice;

void set_advice() {
  advice = run_folder.empty()
               ? " The newest checkpoint can be resumed"
               : fmt::format(" The newest checkpoint is whole: hotloop resume {}", run_folder);
  if (is_world_file(env_file)) {
    advice += fmt::format("; hotloop check {} looks for mistakes", env_file);
  }
}

bool is_in_world() { return getpid() == owner && my_note().function() != nullptr; }

// Called where little is allowed: no allocation.
void report(const char* what) {
  if (is_reported.exchange(true)) return;
  std::array<char, 1024> line;
  char* at = line.data();
  const auto add = [&](const char* format, const auto&... arguments) {
    const auto left = static_cast<std::size_t>(line.data() + line.size() - at);
    at = fmt::format_to_n(at, left, fmt::runtime(format), arguments...).out;
  };
  const CallNote& note = my_note();
  const char* function = note.function();
  if (function != nullptr) {
    const char* env = note.env.load();
    const std::int64_t first = note.row, last = note.last_row, step = note.step;
    add("\nhotloop: environment {}: {} {}", env != nullptr ? env : "", function, what);
    if (first >= 0 && first == last) add(" (row {}, step {})", first, step);
    if (first >= 0 && first != last) add(" (rows {} to {}, step {})", first, last, step);
  } else {
    add("\nhotloop: the process ended in the middle of a run, by a crash or a call to exit(), "
        "perhaps in {}",
        env_file.c_str());
  }
  add("{}{}\n", is_running ? "." : "", is_running ? advice.c_str() : "");
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line.data(), static_cast<std::size_t>(at - line.data()));
}

// SA_RESETHAND: raise() has the signal's default effect.
void on_crash(int number, siginfo_t* about, void*) {
  if (is_in_world()) {
    const bool is_access = number == SIGSEGV || number == SIGBUS;
    const bool is_guard = is_access && hit_guard_page(about->si_addr);
    std::array<char, 128> words{};
    fmt::format_to_n(words.data(), words.size() - 1, "crashed: {}",
                     is_guard ? "an access far beyond its rows" : signal_words(number));
    report(words.data());
  } else if (getpid() == owner && is_running) {
    report("");
  }
  raise(number);
}

void end_as_failure(const char* what) {
  if (getpid() != owner || (!is_in_world() && !is_running)) return;
  report(what);
  _exit(EXIT_FAILURE);
}

// Before main: for every command, and before the destructors of anything made later.
[[maybe_unused]] const bool is_registered = [] {
  const stack_t stack{.ss_sp = spare_stack.data(), .ss_flags = 0, .ss_size = spare_stack.size()};
  sigaltstack(&stack, nullptr);  // the crash may be a stack overflow
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK | SA_NODEFER | SA_SIGINFO);
  for (const int number : kCrashes) sigaction(number, &action, nullptr);
  std::atexit([] { end_as_failure("called exit()"); });
  std::at_quick_exit([] { end_as_failure("called quick_exit()"); });
  return true;
}();

// Says once, and again whenever the time has doubled, that a call has not returned.
void watch(const std::stop_token& stop, double patience) {
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::uint64_t changes = 0;
    Clock::time_point since{};
    double next = 0;  // seconds after which to say so
  };
  std::array<Seen, CallNotes::kCount> seen{};
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, stop, std::chrono::milliseconds(500), [] { return false; }) &&
         !stop.stop_requested()) {
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const CallNote& note = call_notes().notes[i];
      const char* function = note.function();
      if (function == nullptr || note.changes != seen[i].changes) {
        seen[i] = {note.changes, now, patience};
        continue;
      }
      const double seconds = std::chrono::duration<double>(now - seen[i].since).count();
      if (seconds < seen[i].next) continue;
      seen[i].next *= 2;
      print_note(
          "\nhotloop: {} of {} has not returned for {:.0f} s{}. Ctrl-C twice ends the run.{}."
          " With --isolate, such a call is ended\n",
          function, env_file, seconds, note.place(), advice);
    }
  }
}

}  // namespace

CrashMessage::CrashMessage(const TrainSpec& spec) {
  env_file = printable_message(spec.env);
  run_folder = "";
  set_advice();
  is_running = true;
  if (!is_world_file(spec.env)) return;
  watchdog_ = std::jthread([patience = spec.isolation.timeout_seconds](
                               const std::stop_token& stop) { watch(stop, patience); });
}

CrashMessage::~CrashMessage() { is_running = false; }

void CrashMessage::set_run(const std::string& folder) {
  run_folder = printable_message(folder);
  set_advice();
}

}  // namespace hotloop

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// An environment from a file finds these before the C library's.
extern "C" [[noreturn]] void _exit(int code) {
  if (hotloop::is_in_world()) {
    hotloop::report("called _exit()");
    code = EXIT_FAILURE;
  }
  while (true) syscall(SYS_exit_group, code);
}
extern "C" [[noreturn]] void _Exit(int code) { _exit(code); }
#endif
