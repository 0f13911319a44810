#include "core/phase_clock.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hotloop {

double PhaseClock::seconds_per_tick() const {
  const std::uint64_t now = ticks();
  const auto elapsed = std::chrono::steady_clock::now() - start_time_;
  const double wall = std::chrono::duration<double>(elapsed).count();
  return now > start_ticks_ ? wall / static_cast<double>(now - start_ticks_) : 0;
}

namespace {

// Ticks that a switch takes, measured once.
double switch_ticks() {
  static const double ticks = [] {
    PhaseClock clock;
    double minimum = 1e9;
    for (int repeat = 0; repeat < 20; ++repeat) {  // take the minimum: interruptions only add time
      const std::uint64_t begin = PhaseClock::ticks();
      for (int i = 0; i < 50; ++i) {
        clock.enter(Phase::log);
        clock.enter(Phase::evaluate);
      }
      minimum = std::min(minimum, static_cast<double>(PhaseClock::ticks() - begin) / 100);
    }
    return minimum;
  }();
  return ticks;
}

}  // namespace

double PhaseClock::net_ticks(std::size_t slot) const {
  const double cost = switch_ticks() * static_cast<double>(switched_[slot]);
  return std::max(0.0, static_cast<double>(weighted_[slot]) - cost);
}

double PhaseClock::seconds_per_weighted_tick() const {
  double weighted = 0;
  for (std::size_t i = 0; i <= kPhaseCount; ++i) weighted += net_ticks(i);
  const double rounds = static_cast<double>(split_ + exact_[kUnsplit]);
  return weighted > 0 ? rounds / weighted * seconds_per_tick() : 0;
}

double PhaseClock::estimate_seconds(double weighted_ticks) const {
  return weighted_ticks * seconds_per_weighted_tick();
}

PhaseSeconds PhaseClock::seconds() const {
  const double per_tick = seconds_per_tick(), per_weighted = seconds_per_weighted_tick();
  PhaseSeconds result{};
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    result[i] = static_cast<double>(exact_[i]) * per_tick + net_ticks(i) * per_weighted;
  }
  if (split_ == 0) result.back() += static_cast<double>(exact_[kUnsplit]) * per_tick;
  // The visit in progress.
  const double now = static_cast<double>(ticks() - since_) * per_tick;
  result[running_ == kUnsplit ? kPhaseCount - 1 : running_] += now;
  return result;
}

GroupShares PhaseClock::group_shares() const {
  const PhaseSeconds phases = seconds();
  const double total = std::accumulate(phases.begin(), phases.end(), 0.0);
  GroupShares shares{};
  std::size_t group = 0;
  for (std::size_t i = 0; i < kPhaseCount && total > 0; ++i) {
    while (kPhaseGroups[group] != kPhases[i].group) ++group;
    shares[group] += phases[i] / total;
  }
  return shares;
}

double PhaseClock::bucket_middle(int bucket) {
  if (bucket < 8) return bucket;
  const double step = static_cast<double>(std::uint64_t{1} << (bucket / 8 - 1));
  return (8 + bucket % 8 + 0.5) * step;
}

std::array<PhaseStatistics, kPhaseCount> PhaseClock::statistics() const {
  const PhaseSeconds times = seconds();
  const double per_tick = seconds_per_tick();
  // Counts are scaled by the number of rounds, not by their time, which a pause may distort.
  const double scale = weighted_rounds_ > 0
                           ? static_cast<double>(rounds_) / static_cast<double>(weighted_rounds_)
                           : 1;
  std::array<PhaseStatistics, kPhaseCount> all{};
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    const auto& counts = histogram_[i];
    const double visits =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    const bool in_rounds = weighted_[i] > 0;
    const auto quantile = [&](double share) {
      if (visits == 0) return std::numeric_limits<double>::quiet_NaN();
      double below = 0;
      int bucket = 0;
      while ((below += static_cast<double>(counts[bucket])) < share * visits) ++bucket;
      return bucket_middle(bucket) * per_tick * 1e6;
    };
    all[i] = {.seconds = times[i],
              .calls = visits * (in_rounds ? scale : 1),
              .p50_us = quantile(0.5),
              .p99_us = quantile(0.99),
              .allocations = allocations_[i] * (in_rounds ? scale : 1)};
  }
  return all;
}

}  // namespace hotloop
