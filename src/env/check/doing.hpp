// What each thread of a process is doing in the code of an environment.
//
// If that code crashes, hangs or ends the process, the message names the function, the rows and the
// step. The notes are in memory that another process may read: the parent of a trial (trial.hpp) or
// of an isolated environment (env/isolate). That code can write anything into them, so they hold only
// numbers, which are checked where they are read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hotloop {

enum class EnvCall : std::uint32_t {
  none,
  load,
  constructor,
  destructor,
  reset,
  step,
  observe,
  mask,
  measure,
  reward_parts,
  picture,
  save_row,
  restore_row,
  restore,
};
// "step", "the constructor"; null for `none` and for what is no EnvCall.
const char* words_of(EnvCall call);

// One thread's note.
struct alignas(64) CallNote {  // on its own cache line
  std::atomic<EnvCall> call{EnvCall::none};
  std::atomic<const char*> env{nullptr};  // its name; only for this process, never for a parent
  std::atomic<std::int64_t> row{-1}, last_row{-1};
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::uint64_t> changes{0};

  const char* function() const { return words_of(call.load(std::memory_order_acquire)); }
  std::string place() const;  // " (rows 0 to 7, step 17)", or ""
};

struct CallNotes {
  static constexpr std::size_t kCount = 64;  // one per thread; more threads share them
  std::array<CallNote, kCount> notes;
  std::atomic<std::size_t> used{0};

  const CallNote* first_in_call() const;  // null if there is none
};

CallNotes& call_notes();              // of this process
void keep_notes_in(CallNotes& here);  // from now on
CallNote& my_note();                  // of this thread

// While it exists, this thread is in that function of the environment.
class Doing {
 public:
  explicit Doing(EnvCall call, std::int64_t begin = -1, std::int64_t end = -1,
                 std::int64_t step = -1, const char* env = nullptr)
      : note_(my_note()) {
    constexpr auto relaxed = std::memory_order_relaxed;
    note_.env.store(env, relaxed);
    note_.row.store(begin, relaxed);
    note_.last_row.store(end - 1, relaxed);
    note_.step.store(step, relaxed);
    note_.changes.store(note_.changes.load(relaxed) + 1, relaxed);
    note_.call.store(call, std::memory_order_release);
  }
  ~Doing() { note_.call.store(EnvCall::none, std::memory_order_release); }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  CallNote& note_;
};

// How a process with these notes ended: "step crashed: an integer divided by zero (SIGFPE) (rows 0
// to 7, step 17)". `status` is from waitpid.
std::string ending_text(const CallNotes& notes, int status);
// What a signal means for the author of an environment; null if it has no such meaning.
const char* signal_words(int signal);

}  // namespace hotloop
