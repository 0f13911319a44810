// Numbers and text as table cells, in CSV and Markdown.
#pragma once

#include <string>
#include <string_view>

#include "core/statistics.hpp"

namespace hotloop {

// Quoted if it contains a comma, a quotation mark or a line break (RFC 4180).
std::string csv_field(std::string_view text);
std::string csv_number(double value);  // shortest text that reads back equal; empty if NaN

// "86.03", "0.812": about four digits; "-" if NaN.
std::string cell_number(double value);
// "86.03 [84.20, 87.71]", all three with the same number of decimals. Only the mean if all values
// are equal, "-" if there are none.
std::string interval_text(const Summary& summary);

}  // namespace hotloop
