// Where the time goes: an always-on clock of named phases.
//
// Phases are named once, here; progress bar, metrics, profile and reports share the table. They form
// a tree of two levels, "learn/forward". A switch reads the CPU's time-stamp counter and adds to a
// histogram, 20 to 30 ns in all, which is too much for loops whose parts take a few hundred. So the parts
// of a round are told apart in every one, or in one of 2, 4, ... 64, as often as a quarter of a percent of
// their time pays for; which ones is decided by a hash of their number. The others are measured as a whole
// and shared out in the proportions of those that were split, each of which stands for 1 / (its chance of
// being chosen) rounds. `hotloop bench clock` measures the cost.
//
// Deep inside a round, the code that begins a phase says so with `mark`; it does nothing unless the calling
// thread is in a round that is being split.
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
  python,  // an environment that is Python's
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
  learn_sync,
  wait,  // for the other threads
  evaluate,
  log,
  checkpoint,
  start,  // before the first round
  other
};

struct PhaseName {
  std::string_view group, part;  // part is empty where the group has only one phase
};
inline constexpr std::array<PhaseName, 26> kPhases = {{
    {"act", "noise"},       {"act", "forward"},    {"act", "choose"},
    {"env", "step"},        {"env", "observe"},    {"env", "reset"},
    {"env", "check"},       {"python", ""},        {"memory", "push"},
    {"memory", "draw"},     {"memory", "gather"},  {"learn", "returns"},
    {"learn", "noise"},     {"learn", "target"},   {"learn", "forward"},
    {"learn", "loss"},      {"learn", "backward"}, {"learn", "clip"},
    {"learn", "optimiser"}, {"learn", "sync"},     {"wait", ""},
    {"evaluate", ""},       {"log", ""},           {"checkpoint", ""},
    {"start", ""},          {"unaccounted", ""},
}};
inline constexpr std::size_t kPhaseCount = kPhases.size();
static_assert(kPhaseCount == static_cast<std::size_t>(Phase::other) + 1);

// The groups in the order of their first phases.
inline constexpr std::array<std::string_view, 11> kPhaseGroups = {
    "act",      "env", "python",     "memory", "learn",      "wait",
    "evaluate", "log", "checkpoint", "start",  "unaccounted"};

using PhaseSeconds = std::array<double, kPhaseCount>;
using GroupShares = std::array<double, kPhaseGroups.size()>;

// What is known of a phase; estimates where rounds were not split.
struct PhaseStatistics {
  double seconds = 0;
  double calls = 0;               // visits
  double p50_us = 0, p99_us = 0;  // of one visit; NaN without any
  double allocations = 0;
};

// A visit to a phase, for traces. Slot kPhaseCount = a stretch of rounds that were not split.
struct PhaseVisit {
  std::uint64_t begin = 0, end = 0;  // ticks since the clock began
  std::size_t slot = 0;
};

class PhaseClock {
 public:
  explicit PhaseClock(Phase first = Phase::start) : running_(static_cast<std::size_t>(first)) {}
  ~PhaseClock() {
    if (splitting_ == this) splitting_ = nullptr;
  }

  // Outside rounds: everything since the last switch belongs to the phase that was running; now
  // `phase` runs.
  void enter(Phase phase) {
    switch_to(static_cast<std::size_t>(phase), 0);
    splitting_ = nullptr;
  }

  // At most one round in `rarest` + 1, one less than a power of two up to 64, is split.
  void begin_round(std::uint64_t rarest = 0) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const std::uint64_t mask = mask_ | rarest;
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

  // Between rounds. Off, no round is split any more: what the cost of the clock is measured against.
  void set_splitting(bool on) { splits_ = on; }

  // The clock whose round is being split on this thread, or null.
  static PhaseClock* splitting() { return splitting_; }
  void part(Phase phase) { switch_to(static_cast<std::size_t>(phase), weight_); }
  // Back to a phase that was only interrupted: no new visit.
  void resume(Phase phase) {
    part(phase);
    is_visit_ = false;
  }
  Phase running() const { return static_cast<Phase>(running_); }
  std::uint64_t weight() const { return weight_; }  // rounds that the split one stands for

  // Since construction, up to now. Rounds that nobody split yet count as unaccounted.
  PhaseSeconds seconds() const;
  GroupShares group_shares() const;  // of the whole
  std::array<PhaseStatistics, kPhaseCount> statistics() const;
  // What this many ticks, added up with the weights of split rounds, amount to in all rounds.
  double estimate_seconds(double weighted_ticks) const;

  // Every visit from now on is written down until `visits` is full. The span must stay valid.
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
  static constexpr std::size_t kUnsplit = kPhaseCount;  // rounds that were not chosen

  // Durations by their logarithm: eight buckets to an octave, 2^48 ticks at most.
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
          static_cast<double>(allocations - allocations_then_) * static_cast<double>(count);
      if (is_visit_) histogram_[running_][bucket(spent)] += count;
    }
    if (traced_ < trace_.size()) {
      trace_[traced_++] = {since_ - start_ticks_, now - start_ticks_, running_};
    }
    since_ = now;
    allocations_then_ = allocations;
  }

  // Splitting costs about 50 switches, 3,000 ticks: as often as 1/400 of the rounds' time pays for.
  void choose_rate(std::uint64_t round_ticks) {
    constexpr std::uint64_t kPaid = 400 * 3'000, kRarest = 64;
    mask_ = std::bit_ceil(std::min(kPaid / std::max<std::uint64_t>(round_ticks, 1), kRarest)) - 1;
  }

  // Weighted ticks of a phase in split rounds, without what the switches themselves cost.
  double net_ticks(std::size_t slot) const;
  double share_of_split() const;  // seconds that a net weighted tick stands for

  inline static constinit thread_local PhaseClock* splitting_ = nullptr;

  std::array<std::uint64_t, kPhaseCount + 1> exact_{};     // ticks outside split rounds
  std::array<std::uint64_t, kPhaseCount + 1> weighted_{};  // ticks in split rounds, times weight
  std::array<std::uint64_t, kPhaseCount + 1>
      switched_{};           // switches out of it in split rounds, likewise
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
  std::uint64_t rounds_ = 0, weighted_rounds_ = 0;  // all of them; split ones times weight
  std::uint64_t round_began_ = 0;
  std::int64_t switches_ = 0;
  std::int64_t allocations_then_ = Allocations::now();
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
  std::uint64_t start_ticks_ = ticks();
  std::uint64_t since_ = start_ticks_;
};

// From here on, this thread is in `phase` of the round that is being split, if it is in one.
inline void mark(Phase phase) {
  if (PhaseClock* clock = PhaseClock::splitting()) clock->part(phase);
}

}  // namespace hotloop
