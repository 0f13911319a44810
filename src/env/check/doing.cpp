#include "env/check/doing.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <csignal>

namespace hotloop {
namespace {

CallNotes own_notes;
std::atomic<CallNotes*> current{&own_notes};

// By EnvCall.
constexpr std::array kWords = {static_cast<const char*>(nullptr),
                               "loading it (the constructor of a global variable)",
                               "the constructor",
                               "the destructor",
                               "reset",
                               "step",
                               "observe",
                               "mask",
                               "measure",
                               "reward_parts",
                               "picture",
                               "save_row",
                               "restore_row",
                               "restore"};
static_assert(kWords.size() == static_cast<std::size_t>(EnvCall::restore) + 1);

}  // namespace

const char* words_of(EnvCall call) {
  const auto number = static_cast<std::size_t>(call);
  return number < kWords.size() ? kWords[number] : nullptr;
}

CallNotes& call_notes() { return *current.load(std::memory_order_relaxed); }
void keep_notes_in(CallNotes& here) { current = &here; }

CallNote& my_note() {
  thread_local CallNote* note = nullptr;
  thread_local CallNotes* owner = nullptr;
  CallNotes& all = call_notes();
  if (owner != &all) {
    owner = &all;
    note = &all.notes[all.used.fetch_add(1) % CallNotes::kCount];
  }
  return *note;
}

const CallNote* CallNotes::first_in_call() const {
  for (const CallNote& note : notes) {
    if (note.function() != nullptr) return &note;
  }
  return nullptr;
}

std::string CallNote::place() const {
  std::string text;
  const std::int64_t first = row, last = last_row, at = step;
  if (first >= 0) {
    text = first == last ? fmt::format("row {}", first) : fmt::format("rows {} to {}", first, last);
  }
  if (at >= 0) text += fmt::format("{}step {}", text.empty() ? "" : ", ", at);
  return text.empty() ? "" : fmt::format(" ({})", text);
}

const char* signal_words(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "a read or write where there is no memory (SIGSEGV)";
    case SIGBUS:
      return "a read or write where there is no memory (SIGBUS)";
    case SIGFPE:
      return "an integer divided by zero (SIGFPE)";
    case SIGILL:
      return "an illegal instruction (SIGILL)";
    case SIGABRT:
      return "a call to abort, perhaps by a failed assertion (SIGABRT)";
    case SIGKILL:
      return "killed from outside, perhaps out of memory (SIGKILL)";
    default:
      return nullptr;
  }
}

std::string ending_text(const CallNotes& notes, int status) {
  const CallNote* note = notes.first_in_call();
  const char* function = note != nullptr ? note->function() : nullptr;
  const std::string who = function != nullptr ? function : "the environment";
  const std::string place = note != nullptr ? note->place() : "";
  if (!WIFSIGNALED(status)) {
    return fmt::format("{} ended the program with exit code {}{}", who, WEXITSTATUS(status), place);
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGINT || signal == SIGTERM) return "stopped by a signal";
  const char* words = signal_words(signal);
  return fmt::format("{} crashed: {}{}", who,
                     words != nullptr ? words : fmt::format("signal {}", signal), place);
}

}  // namespace hotloop
