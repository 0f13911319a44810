// What an update reports, as one list of named numbers: means over time, columns of metrics.jsonl and
// checkpoints follow from the list.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hotloop {

// What every algorithm reports. Means over the batch.
struct UpdateReport {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
};

// A number of a report under the name that metrics.jsonl has for it.
template <class Report>
struct Column {
  std::string_view name;
  double Report::*value;
};

// Learners of Q(s, a).
struct QReport : UpdateReport {
  double mean_q = 0;  // of Q(s, a)
};
inline constexpr std::array<Column<QReport>, 3> kQColumns = {
    {{"loss", &QReport::loss},
     {"mean_q", &QReport::mean_q},
     {"gradient_norm", &QReport::gradient_norm}}};

inline constexpr int kMaxColumns = 16;

// Sums since the last time somebody read and cleared them.
struct Window {
  double returns = 0;
  std::int64_t episodes = 0;
  std::array<double, kMaxColumns> sums{};  // of the columns of the learner's reports
  std::int64_t updates = 0;
};

}  // namespace hotloop
