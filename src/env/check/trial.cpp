#include "env/check/trial.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

constexpr std::size_t kNotes = 8;  // one per thread; more threads share them

// In memory that parent and child share.
struct Shared {
  std::array<TrialNote, kNotes> notes;
  std::atomic<std::size_t> used{0};
  std::atomic<bool> is_done{false}, threw{false};
  std::size_t length = 0;
  std::array<char, 1 << 18> text{};
};

Shared* shared = nullptr;  // of the trial that this process runs

TrialNote* my_note() {
  if (shared == nullptr) return nullptr;
  thread_local TrialNote* note = nullptr;
  thread_local Shared* owner = nullptr;
  if (owner != shared) {
    owner = shared;
    note = &shared->notes[shared->used.fetch_add(1) % kNotes];
  }
  return note;
}

std::string place_of(const TrialNote& note) {
  std::string text;
  const std::int64_t row = note.row, last = note.last_row, step = note.step;
  if (row >= 0)
    text = row == last ? fmt::format("row {}", row) : fmt::format("rows {} to {}", row, last);
  if (step >= 0) text += fmt::format("{}step {}", text.empty() ? "" : ", ", step);
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

void write_text(Shared& to, const std::string& text) {
  to.length = std::min(text.size(), to.text.size());
  std::memcpy(to.text.data(), text.data(), to.length);
}

[[noreturn]] void run_child(Shared& mine, const std::function<std::string()>& body) {
  for (const int signal : {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, SIG_DFL);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // when the parent dies
  shared = &mine;
  try {
    write_text(mine, body());
  } catch (const std::exception& error) {
    write_text(mine, error.what());
    mine.threw = true;
  }
  mine.is_done = true;
  _exit(0);
}

// Waits for the child and returns its status. If a function of the world does not return in time,
// kills the child and sets `hung` to the note of that function.
int watch(pid_t child, Shared& memory, double seconds, const TrialNote*& hung) {
  using Clock = std::chrono::steady_clock;
  std::array<std::uint64_t, kNotes> seen{};
  std::array<Clock::time_point, kNotes> since{};
  since.fill(Clock::now());
  for (useconds_t pause = 200;; pause = std::min<useconds_t>(pause * 2, 20'000)) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < kNotes; ++i) {
      const TrialNote& note = memory.notes[i];
      const std::uint64_t changes = note.changes;
      if (changes != seen[i] || note.function.load() == nullptr) {
        seen[i] = changes;
        since[i] = now;
      } else if (std::chrono::duration<double>(now - since[i]).count() > seconds) {
        hung = &note;
      }
    }
    if (hung != nullptr) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return status;
    }
    usleep(pause);
  }
}

}  // namespace

Doing::Doing(const char* function, std::int64_t begin, std::int64_t end, std::int64_t step)
    : note_(my_note()) {
  if (note_ == nullptr) return;
  note_->row.store(begin, std::memory_order_relaxed);
  note_->last_row.store(end - 1, std::memory_order_relaxed);
  note_->step.store(step, std::memory_order_relaxed);
  note_->changes.store(note_->changes.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
  note_->function.store(function, std::memory_order_release);
}

Doing::~Doing() {
  if (note_ != nullptr) note_->function.store(nullptr, std::memory_order_release);
}

TrialResult run_trial(const std::function<std::string()>& body, double seconds) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw RunError("cannot share memory with another process");
  auto* child_shared = new (memory) Shared;
  std::fflush(nullptr);  // buffered output must not be written twice
  const pid_t child = fork();
  if (child < 0) {
    munmap(memory, sizeof(Shared));
    throw RunError("cannot start another process");
  }
  if (child == 0) run_child(*child_shared, body);

  TrialResult result;
  const TrialNote* hung = nullptr;
  const int status = watch(child, *child_shared, seconds, hung);
  const std::string message(child_shared->text.data(), child_shared->length);
  if (child_shared->is_done && !child_shared->threw) {
    result.is_done = true;
    result.text = message;
  } else if (child_shared->is_done) {
    result.failure = message;
  } else {
    const TrialNote* note = hung;
    for (const TrialNote& any : child_shared->notes) {
      if (note == nullptr && any.function.load() != nullptr) note = &any;
    }
    const char* function = note != nullptr ? note->function.load() : nullptr;
    const std::string place = note != nullptr ? place_of(*note) : "";
    if (function != nullptr) result.function = function;
    const std::string who = function != nullptr ? function : "the environment";
    if (hung != nullptr) {
      result.is_hung = true;
      result.failure = fmt::format("{} did not return within {:g} s{}", who, seconds, place);
    } else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) {
      result.failure = "stopped by a signal";
    } else if (WIFSIGNALED(status)) {
      const char* words = signal_words(WTERMSIG(status));
      result.failure =
          fmt::format("{} crashed: {}{}", who,
                      words != nullptr ? words : fmt::format("signal {}", WTERMSIG(status)), place);
    } else {
      result.failure =
          fmt::format("{} ended the program with exit code {}{}", who, WEXITSTATUS(status), place);
    }
  }
  child_shared->~Shared();
  munmap(memory, sizeof(Shared));
  return result;
}

namespace {

class NotedWorlds final : public WorldArray {
 public:
  NotedWorlds(std::unique_ptr<WorldArray> worlds, bool each_row)
      : worlds_(std::move(worlds)), each_row_(each_row) {}
  ~NotedWorlds() override {
    const Doing doing("the destructor");
    worlds_.reset();
  }

  const EnvSpec& spec() const override { return worlds_->spec(); }
  bool has_mask() const override { return worlds_->has_mask(); }
  void clear() override {
    const Doing doing("the constructor");
    worlds_->clear();
  }
  void reset(int row, Rng& rng) override {
    const Doing doing("reset", row, row + 1);
    worlds_->reset(row, rng);
  }
  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    in_turn(begin, end, [&](int first, int last) {
      const Doing doing("step", first, last, static_cast<std::int64_t>(step));
      worlds_->step(first, last, actions, seed, purpose, step, rewards, terminated);
    });
  }
  void observe(int begin, int end, std::span<float> obs) const override {
    in_turn(begin, end, [&](int first, int last) {
      const Doing doing("observe", first, last);
      worlds_->observe(first, last, obs);
    });
  }
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    in_turn(begin, end, [&](int first, int last) {
      const Doing doing("mask", first, last);
      worlds_->mask(first, last, allowed);
    });
  }
  void measure(int row, std::span<float> values) const override {
    const Doing doing("measure", row, row + 1);
    worlds_->measure(row, values);
  }
  void reward_parts(int begin, int end, std::span<float> parts) const override {
    const Doing doing("reward_parts", begin, end);
    worlds_->reward_parts(begin, end, parts);
  }
  Picture picture(int row) const override {
    const Doing doing("picture", row, row + 1);
    return worlds_->picture(row);
  }
  std::size_t row_bytes() const override { return worlds_->row_bytes(); }
  void save_row(int row, std::byte* to) const override { worlds_->save_row(row, to); }
  bool restore_row(int row, const std::byte* from) override {
    const Doing doing("restore", row, row + 1);
    return worlds_->restore_row(row, from);
  }
  bool checks_state() const override { return worlds_->checks_state(); }

 private:
  template <class Body>
  void in_turn(int begin, int end, Body&& body) const {
    if (!each_row_) return body(begin, end);
    for (int row = begin; row < end; ++row) body(row, row + 1);
  }

  std::unique_ptr<WorldArray> worlds_;
  bool each_row_;
};

EnvEntry::RowMaker noted_maker(EnvEntry::RowMaker make, bool each_row) {
  return [make = std::move(make), each_row](int count, std::span<const double> values) {
    std::unique_ptr<WorldArray> worlds;
    {
      const Doing doing("the constructor");
      worlds = make(count, values);
    }
    return noted(std::move(worlds), each_row);
  };
}

}  // namespace

std::unique_ptr<WorldArray> noted(std::unique_ptr<WorldArray> worlds, bool each_row) {
  return std::make_unique<NotedWorlds>(std::move(worlds), each_row);
}

EnvEntry noted_entry(const EnvEntry& entry) {
  EnvEntry result = entry;
  result.batch_maker = noted_maker(entry.batch_maker, false);
  result.one_by_one_maker = noted_maker(entry.one_by_one_maker, true);
  return result;
}

}  // namespace hotloop
