// Statistics of the episodes of a run: returns, lengths and measures, over the whole run and over
// the last 100 episodes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "core/limits.hpp"
#include "env/batch_env.hpp"

namespace hotloop {

class EpisodeLog {
 public:
  static constexpr int kLast = 100;
  // The columns: return, length, then the measures of the environment.
  static constexpr int kReturn = 0, kLength = 1, kMeasures = 2;
  static constexpr int kColumns = kMeasures + kMaxMeasures;

  void add(const Episode& episode) {
    Row row{episode.total_return, static_cast<double>(episode.length)};
    std::copy(episode.measures.begin(), episode.measures.end(), row.begin() + kMeasures);
    const auto number = static_cast<std::size_t>(count_[0]++);
    rows_[number % kLast] = row;
    for (int i = 0; i < kColumns; ++i) {
      if (std::isnan(row[i])) continue;
      sums_[i] += row[i];
      largest_[i] = counts_[i]++ == 0 ? row[i] : std::max(largest_[i], row[i]);
    }
  }

  // Over the episodes whose value is not NaN; NaN if there are none.
  double mean(int column) const { return sums_[column] / counts_[column]; }
  double largest(int column) const {
    return counts_[column] > 0 ? largest_[column] : std::numeric_limits<double>::quiet_NaN();
  }
  double mean_of_last(int column) const {
    const auto stored = static_cast<std::size_t>(std::min<double>(count_[0], kLast));
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < stored; ++i) {
      if (std::isnan(rows_[i][column])) continue;
      sum += rows_[i][column];
      ++count;
    }
    return sum / count;
  }

  // The complete state by name, for checkpoints.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("episodes.count", std::span<double>(count_), Limits::count());
    v("episodes.counts", std::span<double>(counts_), Limits::count());
    // Only reported: a measure may be anything.
    v("episodes.sums", std::span<double>(sums_), Limits::any());
    v("episodes.largest", std::span<double>(largest_), Limits::any());
    v("episodes.last", std::span<double>(rows_[0].data(), kLast * kColumns), Limits::any());
  }
  std::int64_t count() const { return static_cast<std::int64_t>(count_[0]); }

 private:
  using Row = std::array<double, kColumns>;
  std::array<double, 1> count_{};      // all episodes
  Row counts_{}, sums_{}, largest_{};  // over the episodes whose value is not NaN
  std::array<Row, kLast> rows_{};      // ring buffer
};

}  // namespace hotloop
