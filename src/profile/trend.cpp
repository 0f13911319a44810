#include "profile/trend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "core/statistics.hpp"

namespace hotloop {
namespace {

constexpr double kMinZ = 3.3;              // of the Mann-Kendall test
constexpr double kMinChange = 0.15;        // of the time per step, over the profile
constexpr double kMinShareOfChange = 0.5;  // that a phase must explain to be called the cause
constexpr double kMinGrowthRatio = 2;      // its growth / growth of the rest, to be the cause
constexpr double kMinLengthRatio = 1.5;    // episode length at the end / at the start
constexpr int kMinWindows = 8;

bool in_rounds(std::size_t phase) { return phase < static_cast<std::size_t>(Phase::evaluate); }

// The difference between two samples.
struct TimeWindow {
  double env_steps = 0;  // since the start, at the middle of the window
  double steps = 0;
  double episodes = 0;
  double us_per_step = 0;  // of rounds
  double queue_share = 0;  // share of its time without a CPU
  PhaseSeconds phases{};   // us per step
};

std::vector<TimeWindow> windows_of(const std::vector<Sample>& samples) {
  std::vector<TimeWindow> windows;
  std::size_t last = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample &a = samples[last], &b = samples[i];
    TimeWindow w{.env_steps = 0.5 * static_cast<double>(a.env_steps + b.env_steps),
                 .steps = static_cast<double>(b.env_steps - a.env_steps),
                 .episodes = static_cast<double>(b.episodes - a.episodes)};
    if (w.steps <= 0) continue;
    w.queue_share = (b.queue_seconds - a.queue_seconds) / (b.seconds - a.seconds);
    for (std::size_t p = 0; p < kPhaseCount && in_rounds(p); ++p) {
      w.phases[p] = 1e6 * (b.phases[p] * b.split_scale - a.phases[p] * a.split_scale) / w.steps;
      w.us_per_step += w.phases[p];
    }
    if (w.us_per_step <= 0) continue;  // no round was split: merge it into the next window
    windows.push_back(w);
    last = i;
  }
  return windows;
}

template <class Get>
Slope slope_of(const std::vector<TimeWindow>& windows, Get&& get) {
  std::vector<double> x, y;
  for (const TimeWindow& w : windows) {
    x.push_back(w.env_steps);
    y.push_back(get(w));
  }
  return robust_slope(x, y);
}

// A possible cause of a change: a phase or a group of phases.
struct Suspect {
  std::string name;
  Slope slope;            // its us per step
  double part = 0;        // its part of the change of a whole step
  bool is_alone = false;  // the rest of a step changed much less
};

// log(last / first). Both are clamped, because a line fitted to a curve may start below zero.
double growth(const Slope& slope, double whole) {
  const double min = 1e-3 * whole;
  return std::log(std::max(slope.last, min) / std::max(slope.first, min));
}

// Whether most of the change comes from other processes using more or less of the CPU. They make
// everything take 1 / (1 - their share) times as long.
bool is_machine_load(const std::vector<TimeWindow>& windows, const Trend& trend) {
  const Slope queue = slope_of(windows, [](const TimeWindow& w) { return w.queue_share; });
  const auto factor = [](double share) { return 1 / (1 - std::clamp(share, 0.0, 0.95)); };
  const double change = std::log(factor(queue.last) / factor(queue.first));
  return change / growth(trend.us_per_step, trend.us_per_step.first) > kMinShareOfChange;
}

Suspect examine(const std::vector<TimeWindow>& windows, const Trend& trend, std::string name,
                std::size_t first, std::size_t end) {
  const auto time = [&](const TimeWindow& w) {
    return std::accumulate(w.phases.begin() + static_cast<std::ptrdiff_t>(first),
                           w.phases.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  };
  Suspect suspect{.name = std::move(name), .slope = slope_of(windows, time)};
  const Slope& whole = trend.us_per_step;
  suspect.part = (suspect.slope.last - suspect.slope.first) / (whole.last - whole.first);
  const Slope rest =
      slope_of(windows, [&](const TimeWindow& w) { return w.us_per_step - time(w); });
  const double sign = trend.slower ? 1 : -1;
  suspect.is_alone = sign * growth(suspect.slope, whole.first) >
                     kMinGrowthRatio * sign * growth(rest, whole.first);
  return suspect;
}

// The phase that makes up most of the change; if there is none, the group. If all change alike, the
// phase that takes most of the time makes up most of the change without being its cause.
void find_cause(const std::vector<TimeWindow>& windows, Trend& trend) {
  std::vector<Suspect> phases, groups;
  for (std::size_t first = 0, next; first < kPhaseCount && in_rounds(first); first = next) {
    const std::string group(kPhases[first].group);
    for (next = first; next < kPhaseCount && kPhases[next].group == group; ++next) {
      const std::string part(kPhases[next].part);
      phases.push_back(
          examine(windows, trend, part.empty() ? group : group + "/" + part, next, next + 1));
    }
    groups.push_back(examine(windows, trend, group, first, next));
  }
  for (const std::vector<Suspect>& suspects : {phases, groups}) {
    const Suspect& worst =
        *std::max_element(suspects.begin(), suspects.end(),
                          [](const Suspect& a, const Suspect& b) { return a.part < b.part; });
    if (worst.part < kMinShareOfChange || !worst.is_alone) continue;
    trend.because = worst.name;
    trend.because_first = worst.slope.first;
    trend.because_last = worst.slope.last;
    return;
  }
}

// Mean lengths over stretches with enough episodes each. Too few stretches give no result.
void find_episode_trend(const std::vector<TimeWindow>& windows, Trend& trend) {
  constexpr double kEpisodes = 5;
  std::vector<double> x, y;
  double steps = 0, episodes = 0;
  for (const TimeWindow& w : windows) {
    steps += w.steps;
    episodes += w.episodes;
    if (episodes < kEpisodes) continue;
    x.push_back(w.env_steps);
    y.push_back(steps / episodes);
    steps = episodes = 0;
  }
  trend.episode_length = robust_slope(x, y);
  Slope& s = trend.episode_length;
  if (y.size() < kMinWindows) return;
  // Lengths often rise early and then stay at their limit. A line would overshoot what was
  // measured.
  const auto quarter = static_cast<std::ptrdiff_t>(y.size() / 4);
  s.first = quantile({y.begin(), y.begin() + quarter}, 0.5);
  s.last = quantile({y.end() - quarter, y.end()}, 0.5);
  trend.longer_episodes = s.z > kMinZ && s.last > kMinLengthRatio * s.first;
}

// Memory counts as growing only if it grows in each quarter of the second half. A single increase
// is normal: the first evaluation, log and checkpoint allocate what they need and keep it.
void find_memory_trend(const std::vector<Sample>& samples, Trend& trend) {
  constexpr double kMinBytes = 1 << 20, kMinShareOfGrowth = 0.1;
  constexpr std::size_t kQuarters = 4;
  const std::size_t half = samples.size() / 2, count = samples.size() - half;
  std::vector<double> x, y;
  for (std::size_t i = half; i < samples.size(); ++i) {
    x.push_back(static_cast<double>(samples[i].env_steps));
    y.push_back(static_cast<double>(samples[i].resident_bytes));
  }
  trend.resident = robust_slope(x, y);
  const double grown = y.back() - y.front();
  trend.growing_memory = count > kQuarters && grown > kMinBytes;
  for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
    const double here =
        y[(quarter + 1) * (count - 1) / kQuarters] - y[quarter * (count - 1) / kQuarters];
    trend.growing_memory &= here > kMinShareOfGrowth * grown;
  }
}

// `steps`: env steps in the profile. The line is not extrapolated beyond ten times as many.
std::string describe(const Trend& t, double steps) {
  constexpr double kMillion = 1e6, kMaxExtrapolation = 10;
  if (!t.slower && !t.faster) return "steady";
  std::string text = t.slower ? "falling" : "rising";
  const Slope& s = t.us_per_step;
  const double then = s.first + kMillion * s.per_x;
  const double change = 100 * std::abs(1 - s.first / then);  // of throughput
  if (kMillion < kMaxExtrapolation * steps && then > 0 && change < 100) {
    text += fmt::format(" {:.2g} % per 10^6 steps", change);
  } else {
    text += fmt::format(" by {:.0f} % during the profile", 100 * std::abs(1 - s.first / s.last));
  }
  if (t.because.empty())
    return text + "; all phases changed alike, so perhaps the machine is busy elsewhere";
  return text + fmt::format(" because {} {} from {:.3g} to {:.3g} us per step", t.because,
                            t.slower ? "grew" : "fell", t.because_first, t.because_last);
}

}  // namespace

Slope robust_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  if (x.size() < 2) return {};
  std::vector<double> slopes;
  double concordant = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      if (x[j] > x[i]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
      concordant += (y[j] > y[i]) - (y[j] < y[i]);
    }
  }
  Slope slope;
  slope.per_x = slopes.empty() ? 0 : quantile(slopes, 0.5);
  std::vector<double> levels;
  for (std::size_t i = 0; i < x.size(); ++i) levels.push_back(y[i] - slope.per_x * x[i]);
  const double level = quantile(levels, 0.5);
  slope.first = level + slope.per_x * x.front();
  slope.last = level + slope.per_x * x.back();
  slope.z = concordant / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  return slope;
}

Trend find_trend(const std::vector<Sample>& samples) {
  Trend trend;
  const std::vector<TimeWindow> windows = windows_of(samples);
  trend.known = windows.size() >= kMinWindows;
  trend.text = "unknown: the profile is too short";
  if (!trend.known) return trend;
  trend.us_per_step = slope_of(windows, [](const TimeWindow& w) { return w.us_per_step; });
  const Slope& s = trend.us_per_step;
  trend.slower = s.z > kMinZ && s.last > (1 + kMinChange) * s.first;
  trend.faster = s.z < -kMinZ && s.first > (1 + kMinChange) * s.last;
  const bool has_cause = (trend.slower || trend.faster) && !is_machine_load(windows, trend);
  if (has_cause) find_cause(windows, trend);
  find_episode_trend(windows, trend);
  find_memory_trend(samples, trend);
  trend.text = describe(trend, static_cast<double>(samples.back().env_steps));
  return trend;
}

}  // namespace hotloop
