#include "algo/common/returns.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hotloop {
namespace {

constexpr double kMinStd = 1e-8;

struct Moments {
  double mean, std;
};

// Of `count` values, `stride` apart.
Moments moments(const float* values, std::size_t count, std::size_t stride) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i * stride]);
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double off = static_cast<double>(values[i * stride]) - mean;
    squares += off * off;
  }
  return {mean, std::sqrt(squares / static_cast<double>(count))};
}

void standardise(float* values, std::size_t count, std::size_t stride) {
  const Moments m = moments(values, count, stride);
  const double factor = 1 / std::max(m.std, kMinStd);
  for (std::size_t i = 0; i < count; ++i) {
    float& value = values[i * stride];
    value = static_cast<float>((static_cast<double>(value) - m.mean) * factor);
  }
}

}  // namespace

void lambda_returns(int steps, int lanes, double gamma, double lambda,
                    std::span<const float> rewards, float reward_factor,
                    std::span<const std::uint8_t> terminated,
                    std::span<const std::uint8_t> truncated, std::span<const float> next_values,
                    std::span<float> returns) {
  const auto discount = static_cast<float>(gamma);
  for (int t = steps - 1; t >= 0; --t) {
    const std::size_t row = static_cast<std::size_t>(t) * lanes;
    const auto mix = t == steps - 1 ? 0.0f : static_cast<float>(lambda);
    const float* next_returns = returns.data() + row + (t == steps - 1 ? 0 : lanes);
    for (int i = 0; i < lanes; ++i) {
      const float lambda_t = truncated[row + i] != 0 ? 0.0f : mix;
      const float gamma_t = terminated[row + i] != 0 ? 0.0f : discount;
      const float value = next_values[row + i];
      // In the last row `next_returns` is the row itself, still unwritten: finite, with weight 0.
      const float next = lambda_t * next_returns[i] + (1 - lambda_t) * value;
      returns[row + i] = rewards[row + i] * reward_factor + gamma_t * next;
    }
  }
}

void standardise(std::span<float> values) { standardise(values.data(), values.size(), 1); }

void standardise_episodes(int steps, int lanes, std::span<const std::uint8_t> terminated,
                          std::span<const std::uint8_t> truncated, std::span<float> values) {
  for (int lane = 0; lane < lanes; ++lane) {
    int first = 0;
    for (int t = 0; t < steps; ++t) {
      const std::size_t place = static_cast<std::size_t>(t) * lanes + lane;
      if (t < steps - 1 && (terminated[place] | truncated[place]) == 0) continue;
      standardise(values.data() + static_cast<std::size_t>(first) * lanes + lane, t + 1 - first,
                  lanes);
      first = t + 1;
    }
  }
}

}  // namespace hotloop
