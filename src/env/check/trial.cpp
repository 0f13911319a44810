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
#include <optional>

#include <hotloop/error.hpp>

#include "core/stop_signal.hpp"
#include "core/system.hpp"

namespace hotloop {
namespace {

// In memory that parent and child share. The parent believes nothing of it.
struct Shared {
  CallNotes calls;
  std::atomic<std::uint8_t> is_done{0}, threw{0};
  std::size_t length = 0;
  std::array<char, 1 << 18> text{};
};

void write_text(Shared& to, const std::string& text) {
  to.length = std::min(text.size(), to.text.size());
  std::memcpy(to.text.data(), text.data(), to.length);
}

[[noreturn]] void run_child(Shared& mine, const std::function<std::string()>& body) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // when the parent dies
  keep_notes_in(mine.calls);
  try {
    write_text(mine, body());
  } catch (const std::exception& error) {
    write_text(mine, message_of(error));
    mine.threw = 1;
  }
  mine.is_done = 1;
  _exit(0);
}

// Waits for the child and returns its status. If a function of the world does not return in time,
// kills the child and sets `hung` to the note of that function. If `stop` is set, kills it, too.
int watch(pid_t child, Shared& memory, double seconds, const std::atomic<bool>& stop,
          const CallNote*& hung) {
  using Clock = std::chrono::steady_clock;
  std::array<std::uint64_t, CallNotes::kCount> seen{};
  std::array<Clock::time_point, CallNotes::kCount> since{};
  since.fill(Clock::now());
  for (useconds_t pause = 200;; pause = std::min<useconds_t>(pause * 2, 20'000)) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < CallNotes::kCount; ++i) {
      const CallNote& note = memory.calls.notes[i];
      const std::uint64_t changes = note.changes;
      if (changes != seen[i] || note.function() == nullptr) {
        seen[i] = changes;
        since[i] = now;
      } else if (std::chrono::duration<double>(now - since[i]).count() > seconds) {
        hung = &note;
      }
    }
    if (hung != nullptr || stop) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return status;
    }
    usleep(pause);
  }
}

}  // namespace

TrialResult run_trial(const std::function<std::string()>& body, double seconds) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* child_shared = new (memory) Shared;
  std::fflush(nullptr);                           // buffered output must not be written twice
  std::optional<StopSignal> stop(std::in_place);  // the child sets a flag that nobody reads
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    munmap(memory, sizeof(Shared));
    throw RunError(fmt::format("cannot start another process: {}", std::strerror(error)));
  }
  if (child == 0) run_child(*child_shared, body);

  TrialResult result;
  const CallNote* hung = nullptr;
  const int status = watch(child, *child_shared, seconds, stop->requested(), hung);
  stop.reset();  // from here on a signal has its previous effect
  const std::string message(child_shared->text.data(),
                            std::min(child_shared->length, child_shared->text.size()));
  if (child_shared->is_done != 0 && child_shared->threw == 0) {
    result.is_done = true;
    result.text = message;
  } else if (child_shared->is_done != 0) {
    result.failure = message;
  } else {
    const CallNote* note = hung != nullptr ? hung : child_shared->calls.first_in_call();
    const char* function = note != nullptr ? note->function() : nullptr;
    if (function != nullptr) result.function = function;
    result.is_hung = hung != nullptr;
    result.failure = hung != nullptr ? fmt::format("{} did not return within {:g} s{}",
                                                   result.function, seconds, note->place())
                                     : ending_text(child_shared->calls, status);
  }
  child_shared->~Shared();
  munmap(memory, sizeof(Shared));
  if (stop_signal() != 0) throw Stopped("an environment was tried");
  return result;
}

namespace {

class NotedWorlds final : public WorldArray {
 public:
  NotedWorlds(std::unique_ptr<WorldArray> worlds, bool each_row)
      : worlds_(std::move(worlds)), each_row_(each_row) {}
  ~NotedWorlds() override {
    const Doing doing(EnvCall::destructor);
    worlds_.reset();
  }

  const EnvSpec& spec() const override { return worlds_->spec(); }
  bool has_mask() const override { return worlds_->has_mask(); }
  void clear() override {
    const Doing doing(EnvCall::constructor);
    worlds_->clear();
  }
  void reset(int row, Rng& rng) override {
    const Doing doing(EnvCall::reset, row, row + 1);
    worlds_->reset(row, rng);
  }
  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    in_turn(begin, end, [&](int first, int last) {
      const Doing doing(EnvCall::step, first, last, static_cast<std::int64_t>(step));
      worlds_->step(first, last, actions, seed, purpose, step, rewards, terminated);
    });
  }
  void observe(int begin, int end, std::span<float> obs) const override {
    in_turn(begin, end, [&](int first, int last) {
      const Doing doing(EnvCall::observe, first, last);
      worlds_->observe(first, last, obs);
    });
  }
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    in_turn(begin, end, [&](int first, int last) {
      const Doing doing(EnvCall::mask, first, last);
      worlds_->mask(first, last, allowed);
    });
  }
  void measure(int row, std::span<float> values) const override {
    const Doing doing(EnvCall::measure, row, row + 1);
    worlds_->measure(row, values);
  }
  void reward_parts(int begin, int end, std::span<float> parts) const override {
    const Doing doing(EnvCall::reward_parts, begin, end);
    worlds_->reward_parts(begin, end, parts);
  }
  Picture picture(int row) const override {
    const Doing doing(EnvCall::picture, row, row + 1);
    return worlds_->picture(row);
  }
  std::size_t row_bytes() const override { return worlds_->row_bytes(); }
  void save_row(int row, std::byte* to) const override { worlds_->save_row(row, to); }
  bool restore_row(int row, const std::byte* from) override {
    const Doing doing(EnvCall::restore, row, row + 1);
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
      const Doing doing(EnvCall::constructor);
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
