// Where the time goes: an always-on clock of named phases.
//
// Phases are named only here; progress bar, metrics, profile and reports share the table. They form
// a tree of two levels, "learn/forward". A switch reads the CPU's time-stamp counter and updates a
// histogram. That takes 20 to 30 ns, too much for loops whose parts take a few hundred. So only
// some rounds are split into their phases: all, or one in 2, 4, ... 64, chosen so that splitting
// costs about a quarter of a percent of the time. A hash of the round's number selects them. The
// other rounds are timed as a whole, and their time is distributed in proportion to the split ones,
// each of which is weighted by 1 / (its probability of being selected). `hotloop bench clock`
// measures the cost.
//
// Code deep inside a round calls `mark` where a phase begins. It does nothing unless the calling
// thread is in a split round.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/allocations.hpp"

namespace hotloop {

enum class Phase : std::uint8_t {
  act_noise,
  act_forward,
  act_choose,
  env_step,
  env_observe,
  env_reset,
  env_check,
  python,  // a Python environment
  memory_push,
  memory_draw,
  memory_gather,
  learn_returns,
  learn_noise,
  learn_target,
  learn_forward,
  learn_loss,
  learn_backward,
  learn_clip,
  learn_optimiser,
  learn_actor,  // actor-critics with a replay memory: the whole pass of the actor
  learn_sync,
  wait,  // for the other threads
  evaluate,
  log,
  checkpoint,
  start,  // before the first round
  other
};

struct PhaseName {
  std::string_view group, part;  // part is empty if the group has only one phase
};
inline constexpr std::array<PhaseName, 27> kPhases = {{
    {"act", "noise"},      {"act", "forward"},  {"act", "choose"},      {"env", "step"},
    {"env", "observe"},    {"env", "reset"},    {"env", "check"},       {"python", ""},
    {"memory", "push"},    {"memory", "draw"},  {"memory", "gather"},   {"learn", "returns"},
    {"learn", "noise"},    {"learn", "target"}, {"learn", "forward"},   {"learn", "loss"},
    {"learn", "backward"}, {"learn", "clip"},   {"learn", "optimiser"}, {"learn", "actor"},
    {"learn", "sync"},     {"wait", ""},        {"evaluate", ""},       {"log", ""},
    {"checkpoint", ""},    {"start", ""},       {"unaccounted", ""},
}};
inline constexpr std::size_t kPhaseCount = kPhases.size();
static_assert(kPhaseCount == static_cast<std::size_t>(Phase::other) + 1);

// The groups in the order of their first phases.
inline constexpr std::array<std::string_view, 11> kPhaseGroups = {
    "act",      "env", "python",     "memory", "learn",      "wait",
    "evaluate", "log", "checkpoint", "start",  "unaccounted"};

using PhaseSeconds = std::array<double, kPhaseCount>;
using GroupShares = std::array<double, kPhaseGroups.size()>;

// Statistics of a phase; estimates for rounds that were not split.
struct PhaseStatistics {
  double seconds = 0;
  double calls = 0;               // visits
  double p50_us = 0, p99_us = 0;  // of one visit; NaN if there was none
  double allocations = 0;
};

// A visit to a phase, for traces. Slot kPhaseCount = a stretch of rounds that were not split.
struct PhaseVisit {
  std::uint64_t begin = 0, end = 0;  // ticks since the clock started
  std::size_t slot = 0;
};

class PhaseClock {
 public:
  explicit PhaseClock(Phase first = Phase::start) : running_(static_cast<std::size_t>(first)) {}
  ~PhaseClock() {
    if (splitting_ == this) splitting_ = nullptr;
  }

  // Outside rounds: adds the time since the last switch to the running phase, then starts `phase`.
  void enter(Phase phase) {
    switch_to(static_cast<std::size_t>(phase), 0);
    splitting_ = nullptr;
  }

  // Splits at most one round in `min_mask` + 1, which must be a power of two up to 64.
  void begin_round(std::uint64_t min_mask = 0) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const std::uint64_t mask = mask_ | min_mask;
    const bool chosen = splits_ && ((rounds_++ * kGoldenRatio) >> 58 & mask) == 0;
    if (chosen) {
      switch_to(static_cast<std::size_t>(Phase::other), mask + 1);
      weighted_rounds_ += mask + 1;
      round_began_ = since_;
      splitting_ = this;
    } else if (running_ != kUnsplit) {
      switch_to(kUnsplit, 0);
    }
  }
  void end_round() {
    if (splitting_ != this) return;
    part(Phase::other);
    splitting_ = nullptr;
    choose_rate(since_ - round_began_);
  }

  // Call between rounds. When off, no round is split: the baseline for measuring the clock's cost.
  void set_splitting(bool on) { splits_ = on; }

  // The clock whose round is being split on this thread, or null.
  static PhaseClock* splitting() { return splitting_; }
  void part(Phase phase) { switch_to(static_cast<std::size_t>(phase), weight_); }
  // Returns to a phase that was only interrupted; not counted as a new visit.
  void resume(Phase phase) {
    part(phase);
    is_visit_ = false;
  }
  Phase running() const { return static_cast<Phase>(running_); }
  std::uint64_t weight() const { return weight_; }  // rounds that the split round represents

  // Since construction. While no round has been split, rounds count as unaccounted.
  PhaseSeconds seconds() const;
  GroupShares group_shares() const;  // of the total time
  std::array<PhaseStatistics, kPhaseCount> statistics() const;
  // Converts ticks in split rounds, summed with the weights of rounds, to seconds in all rounds.
  double estimate_seconds(double weighted_ticks) const;

  // Records every visit from now on until `visits` is full. The span must stay valid.
  void trace(std::span<PhaseVisit> visits) {
    trace_ = visits;
    traced_ = 0;
  }
  std::size_t traced() const { return traced_; }
  double seconds_per_tick() const;

  std::int64_t switches() const { return switches_; }

  static std::uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

 private:
  static constexpr std::size_t kUnsplit = kPhaseCount;  // rounds that were not selected

  // Durations on a logarithmic scale: eight buckets per octave, up to 2^48 ticks.
  static constexpr int kBuckets = 46 * 8;
  static int bucket(std::uint64_t ticks) {
    if (ticks < 8) return static_cast<int>(ticks);
    const int octave = std::bit_width(ticks) - 1;
    return std::min(kBuckets - 1, (octave - 2) * 8 + static_cast<int>(ticks >> (octave - 3) & 7));
  }
  static double bucket_middle(int bucket);  // ticks

  void switch_to(std::size_t slot, std::uint64_t weight) {
    if (slot == running_ && weight == weight_) return;
    const std::uint64_t now = ticks();
    close(now);
    running_ = slot;
    weight_ = weight;
    is_visit_ = true;
    ++switches_;
  }

  void close(std::uint64_t now) {
    const std::uint64_t spent = now - since_;
    const std::int64_t allocations = Allocations::now();
    (weight_ > 0 ? weighted_ : exact_)[running_] += spent * (weight_ > 0 ? weight_ : 1);
    if (weight_ > 0) {
      split_ += spent;
      switched_[running_] += weight_;
    }
    if (running_ < kPhaseCount) {
      const std::uint64_t count = weight_ > 0 ? weight_ : 1;
      allocations_[running_] +=
          static_cast<double>(allocations - allocations_before_) * static_cast<double>(count);
      if (is_visit_) histogram_[running_][bucket(spent)] += count;
    }
    if (traced_ < trace_.size()) {
      trace_[traced_++] = {since_ - start_ticks_, now - start_ticks_, running_};
    }
    since_ = now;
    allocations_before_ = allocations;
  }

  // Splitting a round costs about 50 switches, 3,000 ticks; the budget is 1/400 of the time.
  void choose_rate(std::uint64_t round_ticks) {
    constexpr std::uint64_t kBudget = 400 * 3'000, kMax = 64;
    mask_ = std::bit_ceil(std::min(kBudget / std::max<std::uint64_t>(round_ticks, 1), kMax)) - 1;
  }

  // Weighted ticks of a phase in split rounds, minus the cost of the switches.
  double net_ticks(std::size_t slot) const;
  double seconds_per_weighted_tick() const;  // net of the cost of switches

  inline static constinit thread_local PhaseClock* splitting_ = nullptr;

  std::array<std::uint64_t, kPhaseCount + 1> exact_{};     // ticks outside split rounds
  std::array<std::uint64_t, kPhaseCount + 1> weighted_{};  // ticks in split rounds, times weight
  std::array<std::uint64_t, kPhaseCount + 1>
      switched_{};           // switches out of it in split rounds, times weight
  std::uint64_t split_ = 0;  // ticks in split rounds
  std::array<double, kPhaseCount> allocations_{};
  std::array<std::array<std::uint64_t, kBuckets>, kPhaseCount> histogram_{};
  std::span<PhaseVisit> trace_{};
  std::size_t traced_ = 0;
  std::size_t running_;
  bool is_visit_ = true;
  std::uint64_t weight_ = 0;  // 0 outside split rounds
  std::uint64_t mask_ = 0;    // one round in mask + 1 is split
  bool splits_ = true;
  std::uint64_t rounds_ = 0, weighted_rounds_ = 0;  // all rounds; split rounds times weight
  std::uint64_t round_began_ = 0;
  std::int64_t switches_ = 0;
  std::int64_t allocations_before_ = Allocations::now();
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
  std::uint64_t start_ticks_ = ticks();
  std::uint64_t since_ = start_ticks_;
};

// If this thread is in a split round, `phase` begins here.
inline void mark(Phase phase) {
  if (PhaseClock* clock = PhaseClock::splitting()) clock->part(phase);
}

}  // namespace hotloop
