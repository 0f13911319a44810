// Standard output and standard error.
//
// Standard output carries results: if one cannot be written, the command fails, because a script
// that reads it would miss something. What is meant for people goes through print_text, so that a
// name from a file cannot control the terminal. Standard error carries messages: see core/note.hpp.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include <hotloop/error.hpp>

#include "core/note.hpp"
#include "core/text.hpp"

namespace hotloop {

class OutputError : public RunError {
 public:
  explicit OutputError(int reason)
      : RunError(fmt::format("cannot write to standard output: {}", std::strerror(reason))),
        reason_(reason) {}
  int reason() const { return reason_; }

 private:
  int reason_;  // as in errno
};

inline void flush_results() {
  if (std::fflush(stdout) != 0) throw OutputError(errno);
}

template <class... Values>
void print_result(fmt::format_string<Values...> text, Values&&... values) {
  fmt::memory_buffer buffer;
  fmt::format_to(std::back_inserter(buffer), text, std::forward<Values>(values)...);
  if (std::fwrite(buffer.data(), 1, buffer.size(), stdout) != buffer.size()) {
    throw OutputError(errno);
  }
}

template <class... Values>
void print_text(fmt::format_string<Values...> text, Values&&... values) {
  print_result("{}", printable_message(fmt::format(text, std::forward<Values>(values)...)));
}

// While a guard lives, whatever an environment prints goes to standard error, so that standard
// output stays valid JSON.
class StdoutGuard {
 public:
  StdoutGuard() {
    std::fflush(stdout);
    saved_stdout_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (saved_stdout_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutGuard() {
    // Text that standard error does not accept must not appear on standard output later.
    if (std::fflush(stdout) != 0) __fpurge(stdout);
    if (saved_stdout_ < 0) return;
    dup2(saved_stdout_, STDOUT_FILENO);
    close(saved_stdout_);
  }
  // Writes to the original standard output.
  void write(std::string_view text) const {
    const int to = saved_stdout_ >= 0 ? saved_stdout_ : STDOUT_FILENO;
    while (!text.empty()) {
      const ssize_t written = ::write(to, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw OutputError(errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  StdoutGuard(const StdoutGuard&) = delete;
  StdoutGuard& operator=(const StdoutGuard&) = delete;

 private:
  int saved_stdout_ = -1;
};

}  // namespace hotloop
