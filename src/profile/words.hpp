// What the text and the HTML page have in common: the cells of the phase table, and the lines above
// and below it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"

namespace hotloop {

// Times are in microseconds; p50 and p99 are of one visit.
inline constexpr std::array<std::string_view, 10> kPhaseColumns = {
    "us/step", "us/update", "share", "calls", "p50", "p99", "GFLOP/s", "% peak", "GB/s", "allocs"};
using PhaseCells = std::array<std::string, kPhaseColumns.size()>;
PhaseCells phase_cells(const Profile& profile, const PhaseRow& row);

struct NamedLine {
  std::string name, text;
};
std::string profile_title(const Profile& profile);
std::vector<NamedLine> lines_above(const Profile& profile);  // what ran, and how fast
std::vector<NamedLine> lines_below(const Profile& profile);  // further measurements

}  // namespace hotloop
