// Runs another program and waits for it to end.
#pragma once

#include <string>
#include <vector>

namespace hotloop {

struct ProgramResult {
  int code = 0;            // its exit code, or 128 + the number of the signal that ended it
  std::string text;        // the beginning of what it printed
  bool timed_out = false;  // it took too long and was killed
};

struct ProgramOptions {
  std::vector<std::string> settings{};  // environment variables: "NAME=value"
  double seconds = 0;                   // time limit; 0 = none
  bool only_errors = false;             // keep only standard error
};

// The first argument is the program's path. Throws RunError if it cannot be started.
ProgramResult run_program(const std::vector<std::string>& arguments,
                          const ProgramOptions& options = {});

}  // namespace hotloop
