#include "doctor/trend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "run/summary.hpp"

namespace hotloop {
namespace {

constexpr double kSure = 3.3;          // standard deviations
constexpr double kLeastChange = 0.15;  // of the time of a step, over the profile
constexpr double kMostOfChange = 0.5;  // that one phase must explain to be blamed
constexpr double kLonger = 1.5;        // episodes
constexpr int kFewestWindows = 8;

bool in_rounds(std::size_t phase) { return phase < static_cast<std::size_t>(Phase::evaluate); }

// What passed between two samples.
struct Window {
  double env_steps = 0;  // at its middle, since the beginning
  double steps = 0;
  double episodes = 0;
  double us_per_step = 0;  // of rounds
  PhaseSeconds phases{};   // us per step
};

std::vector<Window> windows_of(const std::vector<Sample>& samples) {
  std::vector<Window> windows;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample &a = samples[i - 1], &b = samples[i];
    Window w{.env_steps = 0.5 * static_cast<double>(a.env_steps + b.env_steps),
             .steps = static_cast<double>(b.env_steps - a.env_steps),
             .episodes = static_cast<double>(b.episodes - a.episodes)};
    if (w.steps <= 0) continue;
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      w.phases[p] = 1e6 * (b.phases[p] - a.phases[p]) / w.steps;
      if (in_rounds(p)) w.us_per_step += w.phases[p];
    }
    windows.push_back(w);
  }
  return windows;
}

template <class Get>
Slope slope_of(const std::vector<Window>& windows, Get&& get) {
  std::vector<double> x, y;
  for (const Window& w : windows) {
    x.push_back(w.env_steps);
    y.push_back(get(w));
  }
  return robust_slope(x, y);
}

// The phase whose time per step moved most, if it makes up most of the change.
void find_cause(const std::vector<Window>& windows, Trend& trend) {
  const double change = trend.us_per_step.last - trend.us_per_step.first;
  double most = 0;
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    if (!in_rounds(p)) continue;
    const Slope slope = slope_of(windows, [p](const Window& w) { return w.phases[p]; });
    const double part = (slope.last - slope.first) / change;
    if (part < kMostOfChange || part < most) continue;
    most = part;
    const PhaseName& name = kPhases[p];
    trend.because = std::string(name.group);
    if (!name.part.empty()) trend.because += "/" + std::string(name.part);
    trend.because_first = slope.first;
    trend.because_last = slope.last;
  }
}

// Mean lengths over stretches that hold enough episodes; too few of these tell nothing.
void find_episode_trend(const std::vector<Window>& windows, Trend& trend) {
  constexpr double kEpisodes = 5;
  std::vector<double> x, y;
  double steps = 0, episodes = 0;
  for (const Window& w : windows) {
    steps += w.steps;
    episodes += w.episodes;
    if (episodes < kEpisodes) continue;
    x.push_back(w.env_steps);
    y.push_back(steps / episodes);
    steps = episodes = 0;
  }
  trend.episode_length = robust_slope(x, y);
  const Slope& s = trend.episode_length;
  trend.longer_episodes =
      y.size() >= kFewestWindows && s.z > kSure && s.last > kLonger * std::max(s.first, 1e-9);
}

// Memory grows if it does so in most of the later windows, not in steps once and for all.
void find_memory_trend(const std::vector<Sample>& samples, Trend& trend) {
  const std::size_t half = samples.size() / 2;
  std::vector<double> x, y;
  int growths = 0;
  for (std::size_t i = half; i < samples.size(); ++i) {
    x.push_back(static_cast<double>(samples[i].env_steps));
    y.push_back(static_cast<double>(samples[i].resident_bytes));
    growths += i > half && samples[i].resident_bytes > samples[i - 1].resident_bytes;
  }
  trend.resident = robust_slope(x, y);
  constexpr double kLeastBytes = 1 << 20;
  trend.growing_memory = trend.resident.last - trend.resident.first > kLeastBytes &&
                         growths * 2 > static_cast<int>(y.size());
}

std::string describe(const Trend& t) {
  const double per_million =
      100 * (1 - t.us_per_step.first / (t.us_per_step.first + 1e6 * t.us_per_step.per_x));
  if (!t.slower && !t.faster) return "steady";
  std::string text = t.slower ? "falling" : "rising";
  if (t.us_per_step.first + 1e6 * t.us_per_step.per_x > 0 && std::abs(per_million) < 100) {
    text += fmt::format(" {:.2g} % per 10^6 steps", std::abs(per_million));
  } else {
    text += fmt::format(" by {:.0f} % in this time",
                        100 * std::abs(1 - t.us_per_step.first / t.us_per_step.last));
  }
  if (t.because.empty())
    return text + "; all phases alike, so perhaps the machine is busy elsewhere";
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
  const std::vector<Window> windows = windows_of(samples);
  trend.known = windows.size() >= kFewestWindows;
  trend.text = "not known: too short";
  if (!trend.known) return trend;
  trend.us_per_step = slope_of(windows, [](const Window& w) { return w.us_per_step; });
  const Slope& s = trend.us_per_step;
  trend.slower = s.z > kSure && s.last > (1 + kLeastChange) * s.first;
  trend.faster = s.z < -kSure && s.first > (1 + kLeastChange) * s.last;
  if (trend.slower || trend.faster) find_cause(windows, trend);
  find_episode_trend(windows, trend);
  find_memory_trend(samples, trend);
  trend.text = describe(trend);
  return trend;
}

}  // namespace hotloop
