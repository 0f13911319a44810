// Where the time goes: an always-on clock of named phases.
//
// Phases are named once, here; the progress bar, the metrics and the reports share the table. A
// switch costs one read of the CPU's time-stamp counter; `hotloop bench clock` measures what that
// is of a training run (well below 0.5 %), so the clock stays on.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotloop {

enum class Phase : std::uint8_t { other, act, step, push, sample, learn, evaluate, log, save };

inline constexpr std::array<std::string_view, 9> kPhaseNames = {
    "other", "act", "step", "push", "sample", "learn", "evaluate", "log", "save"};

class PhaseClock {
 public:
  // Everything since the last switch belongs to the phase that was running; now `phase` runs.
  void enter(Phase phase) {
    const std::uint64_t now = ticks();
    spent_[static_cast<std::size_t>(running_)] += now - since_;
    running_ = phase;
    since_ = now;
    ++switches_;
  }
  std::int64_t switches() const { return switches_; }

  // Seconds per phase since construction.
  std::array<double, kPhaseNames.size()> seconds() {
    enter(running_);
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_).count();
    const double per_tick =
        since_ > start_ticks_ ? wall / static_cast<double>(since_ - start_ticks_) : 0;
    std::array<double, kPhaseNames.size()> result{};
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<double>(spent_[i]) * per_tick;
    return result;
  }

 private:
  static std::uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  std::array<std::uint64_t, kPhaseNames.size()> spent_{};
  Phase running_ = Phase::other;
  std::int64_t switches_ = 0;
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
  std::uint64_t start_ticks_ = ticks();
  std::uint64_t since_ = start_ticks_;
};

}  // namespace hotloop
