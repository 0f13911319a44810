// Messages on standard error. One that cannot be written is dropped, because a closed terminal or
// pipe must not stop training.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <utility>

namespace hotloop {

template <class... Values>
void print_note(fmt::format_string<Values...> text, Values&&... values) {
  fmt::memory_buffer buffer;
  fmt::format_to(std::back_inserter(buffer), text, std::forward<Values>(values)...);
  std::fwrite(buffer.data(), 1, buffer.size(), stderr);
  std::fflush(stderr);
}

}  // namespace hotloop
