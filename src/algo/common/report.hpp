// What an update reports: one list of named numbers. Running means, the columns of metrics.jsonl
// and checkpoints are generated from it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hotloop {

// Reported by every algorithm; means over the batch.
struct UpdateReport {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
};

// A number of a report and its name in metrics.jsonl.
template <class Report>
struct Column {
  std::string_view name;
  double Report::*value;
};

// For algorithms that learn Q(s, a).
struct QReport : UpdateReport {
  double mean_q = 0;  // mean Q(s, a) of the actions taken
};
inline constexpr std::array<Column<QReport>, 3> kQColumns = {
    {{"loss", &QReport::loss},
     {"mean_q", &QReport::mean_q},
     {"gradient_norm", &QReport::gradient_norm}}};

inline constexpr int kMaxColumns = 16;

// Sums since they were last read and cleared.
struct Window {
  double returns = 0;
  std::int64_t episodes = 0;
  std::array<double, kMaxColumns> sums{};  // of the columns of the learner's reports
  std::int64_t updates = 0;
};

}  // namespace hotloop
