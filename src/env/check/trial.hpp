// Runs code that may crash or hang in a process of its own.
//
// The child notes in shared memory what it is about to do; if it dies or does not return, the parent
// knows what it was doing.
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
  std::atomic<const char*> function{nullptr};  // a literal: the child is a copy of its parent
  std::atomic<std::int64_t> row{-1}, last_row{-1};
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::uint64_t> changes{0};
};

// While it exists, this thread of the child is in `function` of the world.
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
  std::string function;  // in which it happened; empty if unknown
};

// Runs `body` in a child, which is killed when one function of the world takes longer than `seconds`.
// An exception of the body is a failure too, with its message.
TrialResult run_trial(const std::function<std::string()>& body, double seconds);

// The same worlds, noting every call. With `each_row`, rows are stepped and observed one at a time, so
// that the note has the row.
std::unique_ptr<WorldArray> noted(std::unique_ptr<WorldArray> worlds, bool each_row);

// An entry whose worlds are noted.
EnvEntry noted_entry(const EnvEntry& entry);

}  // namespace hotloop
