// While a guard lives, whatever an environment prints goes to standard error, so that standard
// output stays valid JSON. Without a free file descriptor there is no guard, and `write` writes to
// standard output as it is.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include <hotloop/error.hpp>

namespace hotloop {

class StdoutGuard {
 public:
  StdoutGuard() {
    std::fflush(stdout);
    saved_stdout_ = dup(STDOUT_FILENO);
    if (saved_stdout_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutGuard() {
    std::fflush(stdout);
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
      if (written < 0) throw RunError("cannot write to standard output");
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  StdoutGuard(const StdoutGuard&) = delete;
  StdoutGuard& operator=(const StdoutGuard&) = delete;

 private:
  int saved_stdout_ = -1;
};

}  // namespace hotloop
