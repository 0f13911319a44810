// Messages on standard error. One that cannot be written is dropped, because a closed terminal or
// pipe must not stop training. What they quote from a file cannot control the terminal.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/text.hpp"

namespace hotloop {

template <class... Values>
void print_note(fmt::format_string<Values...> text, Values&&... values) {
  fmt::memory_buffer buffer;
  fmt::format_to(std::back_inserter(buffer), text, std::forward<Values>(values)...);
  write_printable({buffer.data(), buffer.size()}, stderr);
  std::fflush(stderr);
}

// A line of our own that overwrites itself: erases the line, then writes the text.
inline void print_status(std::string_view text) {
  constexpr std::string_view kEraseLine = "\r\x1b[K";
  std::fwrite(kEraseLine.data(), 1, kEraseLine.size(), stderr);
  write_printable(text, stderr);
  std::fflush(stderr);
}

}  // namespace hotloop
