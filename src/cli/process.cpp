#include "cli/process.hpp"

#include <alloca.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include <hotloop/error.hpp>

#include "core/system.hpp"

namespace hotloop {
namespace {

void write_error(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

bool memory_is_short() {
  try {
    require_memory(std::size_t{1} << 20);
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

// Reached when memory runs out before main, in a thread of a library, or where nothing may throw.
[[noreturn]] void on_terminate() {
  try {
    if (std::current_exception() == nullptr && memory_is_short()) throw std::bad_alloc();
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    report_out_of_memory();
    _exit(EXIT_FAILURE);
  } catch (const std::exception& error) {
    write_error("hotloop: ");
    write_error(error.what());
    write_error("\n");
  } catch (...) {
  }
  std::abort();
}

// Before the initialisers of the program and of its libraries, which allocate.
void install_on_terminate() { std::set_terminate(on_terminate); }
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeInitialisers)() = install_on_terminate;

// A closed standard stream is replaced by one that cannot be read or written. Otherwise a file
// opened later would get its number, and messages would be written into that file.
void fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/", O_RDONLY | O_DIRECTORY) != stream) _exit(EXIT_FAILURE);
  }
}

constexpr std::size_t kStack = std::size_t{512} << 10;  // in use at most, with some reserve
constexpr rlim_t kMinStackLimit = rlim_t{2} * kStack;   // with arguments and environment variables

[[gnu::noinline]] void grow_stack() {
  volatile char* lowest = static_cast<volatile char*>(alloca(kStack));
  *lowest = 0;
}

// A stack that cannot grow ends in SIGSEGV, so its limits are checked first.
void prepare_stack() {
  rlimit stack{}, memory{};
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kMinStackLimit) {
    const rlim_t found = stack.rlim_cur;
    stack.rlim_cur = std::min(kMinStackLimit, stack.rlim_max);
    if (stack.rlim_cur < kMinStackLimit || setrlimit(RLIMIT_STACK, &stack) != 0) {
      throw RunError(fmt::format("the stack is limited to {} KiB (ulimit -s); {} KiB are needed",
                                 found >> 10, kMinStackLimit >> 10));
    }
    pthread_attr_t threads;  // their default is the limit at the start of the program
    pthread_attr_init(&threads);
    pthread_attr_setstacksize(&threads, kMinStackLimit);
    pthread_setattr_default_np(&threads);
    pthread_attr_destroy(&threads);
  }
  if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY) {
    require_memory(kStack);
    grow_stack();  // while there is room
  }
}

}  // namespace

void report_out_of_memory() {
  rlimit limit{};
  std::array<char, 128> text{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    std::snprintf(text.data(), text.size(),
                  "hotloop: out of memory: limited to %llu MiB (ulimit -v)\n",
                  static_cast<unsigned long long>(limit.rlim_cur >> 20));
    write_error(text.data());
  } else {
    write_error("hotloop: out of memory\n");
  }
}

void prepare_process() {
  fill_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  prepare_stack();
}

}  // namespace hotloop
