// A profile on the terminal, 100 columns wide.
#include <fmt/format.h>

#include <sstream>

#include "profile/report.hpp"
#include "profile/words.hpp"

namespace hotloop {
namespace {

constexpr std::size_t kWidth = 100, kIndent = 15;
constexpr std::array<int, kPhaseColumns.size()> kColumnWidths = {9, 10, 8, 7, 8, 9, 9, 8, 7, 8};

// "  name         text", wrapped.
std::string named_line(const NamedLine& line) {
  std::string result, current = fmt::format("  {:<{}}", line.name, kIndent - 2);
  std::istringstream words(line.text);
  for (std::string word; words >> word;) {
    if (current.size() + word.size() > kWidth) {
      result += current.substr(0, current.find_last_not_of(' ') + 1) + '\n';
      current.assign(kIndent, ' ');
    }
    current += word + ' ';
  }
  return result + current.substr(0, current.find_last_not_of(' ') + 1) + '\n';
}

template <class Cells>
std::string table_line(const std::string& name, const Cells& cells) {
  std::string line = fmt::format("{:<15}", name);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += fmt::format("{:>{}}", cells[i], kColumnWidths[i]);
  }
  return line + '\n';
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string text = profile_title(profile) + '\n';
  for (const NamedLine& line : lines_above(profile)) text += named_line(line);
  text += '\n' + table_line("phase", kPhaseColumns);
  for (const PhaseRow& row : profile.phases) {
    text += table_line(row.part.empty() ? row.group : "  " + row.part, phase_cells(profile, row));
  }
  text += "times in us; p50 and p99 of one call; allocs: heap allocations per env step\n\n";
  for (const NamedLine& line : lines_below(profile)) text += named_line(line);
  return text;
}

}  // namespace hotloop
