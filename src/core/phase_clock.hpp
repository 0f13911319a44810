// Where the time goes: an always-on clock of named phases.
//
// Phases are named once, here; the progress bar, the metrics and the reports share the table. A
// switch reads the CPU's time-stamp counter, about 10 ns, which is too much for loops whose parts take
// a few hundred. So the parts of a round are told apart in one round of eight, chosen by a hash of its
// number; the other rounds are measured as a whole and shared out in the same proportions. What is
// left of the cost (`hotloop bench clock`) is well below 0.5 % of training.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotloop {

enum class Phase : std::uint8_t { act, step, push, sample, learn, evaluate, log, save, other };

inline constexpr std::array<std::string_view, 9> kPhaseNames = {
    "act", "step", "push", "sample", "learn", "evaluate", "log", "save", "other"};
inline constexpr std::size_t kPartsOfRound = 5;  // the first phases, those inside a round

class PhaseClock {
 public:
  // Everything since the last switch belongs to the phase that was running; now `phase` runs.
  void enter(Phase phase) { enter_slot(static_cast<std::size_t>(phase)); }

  // A round begins, or ends; inside it, `enter_part` tells its parts apart if it was chosen.
  void begin_round() {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    chosen_ = (rounds_++ * kGoldenRatio) >> 61 == 0;
    if (!chosen_) enter_slot(kUnsplit);
  }
  void enter_part(Phase phase) {
    if (chosen_) enter(phase);
  }

  // Seconds per phase since construction.
  std::array<double, kPhaseNames.size()> seconds();
  // The same as shares of the whole.
  std::array<double, kPhaseNames.size()> shares();

  std::int64_t switches() const { return switches_; }

 private:
  static constexpr std::size_t kUnsplit = kPhaseNames.size();  // rounds that were not chosen

  static std::uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  void enter_slot(std::size_t slot) {
    if (slot == running_) return;
    const std::uint64_t now = ticks();
    spent_[running_] += now - since_;
    running_ = slot;
    since_ = now;
    ++switches_;
  }

  std::array<std::uint64_t, kPhaseNames.size() + 1> spent_{};
  std::size_t running_ = static_cast<std::size_t>(Phase::other);
  bool chosen_ = false;
  std::uint64_t rounds_ = 0;
  std::int64_t switches_ = 0;
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
  std::uint64_t start_ticks_ = ticks();
  std::uint64_t since_ = start_ticks_;
};

}  // namespace hotloop
