// Runs code that may crash or hang in a separate process.
//
// The child writes to shared memory what it is about to do. If it dies or hangs, the parent knows
// what it was doing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <hotloop/env.hpp>

namespace hotloop {

// What a thread of the child is doing, for the parent to read.
struct TrialNote {
  std::atomic<const char*> function{nullptr};  // a literal, valid in the parent too after fork
  std::atomic<std::int64_t> row{-1}, last_row{-1};
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::uint64_t> changes{0};
};

// While it exists, this thread of the child is in the world's `function`.
class Doing {
 public:
  explicit Doing(const char* function, std::int64_t begin = -1, std::int64_t end = -1,
                 std::int64_t step = -1);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  TrialNote* note_;
};

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
