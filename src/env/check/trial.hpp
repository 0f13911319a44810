// Runs code that may crash or hang in a separate process.
//
// The child writes to shared memory what it is about to do. If it dies or hangs, the parent knows
// what it was doing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <hotloop/env.hpp>

#include "env/check/doing.hpp"

namespace hotloop {

struct TrialResult {
  bool is_done = false;  // the body returned
  bool is_hung = false;  // it had to be killed
  std::string text;      // what it returned
  std::string failure;   // otherwise: "step did not return within 5 s (row 0, step 17)"
  std::string function;  // where it happened; empty if unknown
};

// Runs `body` in a child process, which is killed if a function of the world takes longer than
// `seconds`. An exception from the body is a failure too, with its message.
TrialResult run_trial(const std::function<std::string()>& body, double seconds);

// The same worlds, recording every call in a note. With `each_row`, rows are stepped and observed
// one at a time, so that the note names the row.
std::unique_ptr<WorldArray> noted(std::unique_ptr<WorldArray> worlds, bool each_row);

// The same entry, whose worlds record every call.
EnvEntry noted_entry(const EnvEntry& entry);

}  // namespace hotloop
