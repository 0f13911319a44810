// Writes a number into a line of JSON: six digits, or null if it is not finite.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace hotloop {

inline void append_number(fmt::memory_buffer& line, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(line), "{:.6g}", value);
  } else {
    fmt::format_to(std::back_inserter(line), "null");
  }
}

}  // namespace hotloop
