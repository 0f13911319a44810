#include "draw/table_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

int decimals_for(double size) { return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3; }

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string cell_number(double value) {
  if (std::isnan(value)) return "-";
  return fmt::format("{:.{}f}", value, decimals_for(std::abs(value)));
}

std::string interval_text(const Summary& summary) {
  if (summary.count == 0) return "-";
  if (summary.low == summary.high) return cell_number(summary.mean);
  const int decimals = decimals_for(std::max(std::abs(summary.low), std::abs(summary.high)));
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", summary.mean, decimals, summary.low, decimals,
                     summary.high, decimals);
}

}  // namespace hotloop
