// Standard output for us alone: while this lives, whatever an environment prints goes to standard error, so
// that JSON stays JSON.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string_view>

#include <hotloop/error.hpp>

namespace hotloop {

class KeptOutput {
 public:
  KeptOutput() {
    std::fflush(stdout);
    kept_ = dup(STDOUT_FILENO);
    if (kept_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~KeptOutput() {
    std::fflush(stdout);
    if (kept_ < 0) return;
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  // To where standard output went before.
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(kept_, text.data(), text.size());
      if (written < 0) throw RunError("cannot write to standard output");
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;

 private:
  int kept_ = -1;
};

}  // namespace hotloop
