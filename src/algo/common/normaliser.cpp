#include "algo/common/normaliser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <hotloop/error.hpp>

namespace hotloop {
namespace {

constexpr double kTiny = 1e-8;

// Merges the mean and squared deviations of `rows` values, `stride` apart, into the running ones.
template <class T>
void merge(const T* values, std::size_t rows, std::size_t stride, double count, double& mean,
           double& squares) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) sum += static_cast<double>(values[i * stride]);
  const double new_mean = sum / static_cast<double>(rows);
  double new_squares = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double off = static_cast<double>(values[i * stride]) - new_mean;
    new_squares += off * off;
  }
  const double total = count + static_cast<double>(rows);
  const double gap = new_mean - mean;
  mean += gap * static_cast<double>(rows) / total;
  squares += new_squares + gap * gap * count * static_cast<double>(rows) / total;
}

double inverse_std(double squares, double count) { return 1 / std::sqrt(squares / count + kTiny); }

}  // namespace

ObsNormaliser::ObsNormaliser(int features)
    : count_(arena_.take<double>(1)),
      exact_mean_(arena_.take<double>(features)),
      squares_(arena_.take<double>(features)),
      mean_(arena_.take<float>(features)),
      factor_(arena_.take<float>(features)),
      scale_{mean_.data(), factor_.data()} {
  std::fill(factor_.begin(), factor_.end(), 1.0f);
}

void ObsNormaliser::add(std::span<const float> rows) {
  const std::size_t features = mean_.size();
  const std::size_t count = rows.size() / features;
  for (std::size_t f = 0; f < features; ++f) {
    merge(rows.data() + f, count, features, count_[0], exact_mean_[f], squares_[f]);
  }
  count_[0] += static_cast<double>(count);
  for (std::size_t f = 0; f < features; ++f) {
    mean_[f] = static_cast<float>(exact_mean_[f]);
    // The std of a single row is 0.
    if (count_[0] > 1) factor_[f] = static_cast<float>(inverse_std(squares_[f], count_[0]));
  }
}

RewardNormaliser::RewardNormaliser(int envs, double gamma)
    : gamma_(gamma), statistics_(arena_.take<double>(4)), returns_(arena_.take<double>(envs)) {
  statistics_[3] = 1;
}

void RewardNormaliser::restored() const {
  struct Statistic {
    const char* name;
    Limits limits;
  };
  const std::array<Statistic, 4> all = {{{"count", Limits::count()},
                                         {"mean", Limits::finite()},
                                         {"squares", Limits::at_least(0)},
                                         {"factor", Limits::at_least(0)}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].limits.first_outside(std::span<const double>(&statistics_[i], 1))) continue;
    throw RunError(fmt::format("normaliser.rewards: {} is {}; allowed: {}", all[i].name,
                               statistics_[i], all[i].limits.text()));
  }
}

void RewardNormaliser::add(std::span<const float> rewards, std::span<const std::uint8_t> terminated,
                           std::span<const std::uint8_t> truncated) {
  for (std::size_t i = 0; i < returns_.size(); ++i) {
    returns_[i] = gamma_ * returns_[i] + static_cast<double>(rewards[i]);
  }
  double& count = statistics_[0];
  double& squares = statistics_[2];
  merge(returns_.data(), returns_.size(), 1, count, statistics_[1], squares);
  count += static_cast<double>(returns_.size());
  // Constant returns say nothing about the scale of rewards.
  if (squares > 0) statistics_[3] = inverse_std(squares, count);
  for (std::size_t i = 0; i < returns_.size(); ++i) {
    if ((terminated[i] | truncated[i]) != 0) returns_[i] = 0;
  }
}

}  // namespace hotloop
