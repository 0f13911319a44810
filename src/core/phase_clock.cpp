#include "core/phase_clock.hpp"

#include <numeric>

namespace hotloop {

std::array<double, kPhaseNames.size()> PhaseClock::seconds() {
  const std::uint64_t now = ticks();
  spent_[running_] += now - since_;
  since_ = now;
  const auto elapsed = std::chrono::steady_clock::now() - start_time_;
  const double wall = std::chrono::duration<double>(elapsed).count();
  const double per_tick = now > start_ticks_ ? wall / static_cast<double>(now - start_ticks_) : 0;

  double split = 0;
  for (std::size_t i = 0; i < kPartsOfRound; ++i) split += static_cast<double>(spent_[i]);
  const double share = split > 0 ? 1 + static_cast<double>(spent_[kUnsplit]) / split : 1;
  std::array<double, kPhaseNames.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<double>(spent_[i]) * per_tick * (i < kPartsOfRound ? share : 1);
  }
  return result;
}

std::array<double, kPhaseNames.size()> PhaseClock::shares() {
  auto phases = seconds();
  const double total = std::accumulate(phases.begin(), phases.end(), 0.0);
  for (double& phase : phases) phase = total > 0 ? phase / total : 0;
  return phases;
}

}  // namespace hotloop
