#include "cli/crash_message.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "env/file/world_file.hpp"

namespace hotloop {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::atomic<bool> armed{false};
std::string message;  // set before `armed`
std::array<char, 1 << 16> spare_stack;

void print_message() {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
}

extern "C" void on_crash(int number) {  // SA_RESETHAND: raise() has the signal's default effect
  if (armed.exchange(false)) print_message();
  raise(number);
}

void on_exit() {
  if (!armed.exchange(false)) return;
  print_message();
  _exit(EXIT_FAILURE);
}

}  // namespace

CrashMessage::CrashMessage(const std::string& env) {
  message = fmt::format(
      "\nhotloop: the process ended in the middle of a run, by a crash or a call to exit(), "
      "perhaps in {}. The newest checkpoint can be resumed{}\n",
      env, is_world_file(env) ? fmt::format("; hotloop check {} looks for mistakes", env) : "");
  static const bool registered = std::atexit(on_exit) == 0;
  armed = registered;
  const stack_t stack{.ss_sp = spare_stack.data(), .ss_flags = 0, .ss_size = spare_stack.size()};
  sigaltstack(&stack, nullptr);  // the crash may be a stack overflow
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK | SA_NODEFER);
  for (const int number : kCrashes) sigaction(number, &action, nullptr);
}

CrashMessage::~CrashMessage() {
  armed = false;
  for (const int number : kCrashes) std::signal(number, SIG_DFL);
}

}  // namespace hotloop
