// Errors a user can act on. Each message is a complete sentence: what was found, where, what is
// allowed. Our own mistakes are assertions, never these.
#pragma once

#include <stdexcept>
#include <string>

namespace hotloop {

// Something went wrong while running: a full disk, a corrupt file, a non-finite loss. Exit code 1.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The code of an environment failed in a way that it must not: it crashed, hung or ended its process,
// or wrote beyond its rows. In the last case the memory of this process can no longer be trusted.
struct WorldError : RunError {
  explicit WorldError(const std::string& what, bool memory_is_intact = true)
      : RunError(what), is_memory_intact(memory_is_intact) {}
  bool is_memory_intact;
};

// The request itself is wrong: an unknown name, a misspelt key, a value out of range. Exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace hotloop
