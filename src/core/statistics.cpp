#include "core/statistics.hpp"

#include <hotloop/rng.hpp>

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

constexpr int kResamples = 2'000;
constexpr std::uint64_t kFarStep = std::uint64_t{1} << 63;  // no evaluation ever reaches it

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return kNone;
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

Summary summarise(std::span<const double> all) {
  std::vector<double> values;
  std::copy_if(all.begin(), all.end(), std::back_inserter(values),
               [](double value) { return !std::isnan(value); });
  if (values.empty()) return {kNone, kNone, kNone, kNone, kNone, 0};
  Summary result{.mean = mean_of(values), .count = static_cast<int>(values.size())};
  for (const double value : values) result.std += (value - result.mean) * (value - result.mean);
  result.std = std::sqrt(result.std / result.count);
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  result.largest = *highest;
  if (*lowest == *highest) {  // no need to resample, and rounding must not create an interval
    result.mean = result.low = result.high = *highest;
    return result;
  }
  std::vector<double> means(kResamples);
  for (int i = 0; i < kResamples; ++i) {
    Rng rng(0, Purpose::evaluation_world, static_cast<std::uint32_t>(i), kFarStep);
    double sum = 0;
    for (int draw = 0; draw < result.count; ++draw) {
      sum += values[rng.below(static_cast<std::uint32_t>(result.count))];
    }
    means[i] = sum / result.count;
  }
  result.low = quantile(means, 0.025);
  result.high = quantile(means, 0.975);
  return result;
}

}  // namespace hotloop
