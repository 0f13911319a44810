// Finds which of eight numbers, laid end to end, contains a point: the search within a group of
// PriorityTree. The numbers are integers, so their sums are exact.
//
// It counts the numbers that end at or before the point. It uses generic vectors, which the
// compiler maps to the CPU's vector instructions: branches would be mispredicted, and branch-free
// scalar code takes 1.5 times as long.
#pragma once

#include <cstdint>

namespace hotloop::group_search {

inline constexpr std::int64_t kGroup = 8;

using Integers = std::int64_t __attribute__((vector_size(32), may_alias));  // [4]
using Doubles = double __attribute__((vector_size(32), may_alias));         // [4]
using Floats = float __attribute__((vector_size(16), may_alias));           // [4]

// x[i] <- x[0] + ... + x[i]
template <class Four>
inline Four running_sums(Four x) {
  const Four zero{};
  x += __builtin_shufflevector(zero, x, 0, 4, 5, 6);
  return x + __builtin_shufflevector(zero, x, 0, 1, 4, 5);
}

// Where each of eight numbers ends.
template <class Four>
struct Ends {
  Four first, second;

  Ends(Four x, Four y) : first(running_sums(x)), second(running_sums(y)) {
    second += __builtin_shufflevector(first, first, 3, 3, 3, 3);
  }

  template <class T>
  std::int64_t count_up_to(T point) const {
    const Integers beyond = (first > point) + (second > point);  // -1 for each end beyond the point
    const auto pair = __builtin_shufflevector(beyond, beyond, 0, 1) +
                      __builtin_shufflevector(beyond, beyond, 2, 3);
    return kGroup + pair[0] + pair[1];
  }
};

// Returns the index of the number that contains the point, and makes the point relative to its
// start.
inline std::int64_t find(const std::int64_t* group, std::int64_t& point) {
  const auto* values = reinterpret_cast<const Integers*>(group);
  const Ends ends(values[0], values[1]);
  const std::int64_t found = ends.count_up_to(point);
  const Integers starts[2] = {ends.first - values[0], ends.second - values[1]};
  point -= reinterpret_cast<const std::int64_t*>(starts)[found];
  return found;
}

// For floats that are integers up to 2^48: doubles hold the sums of eight exactly.
inline std::int64_t find(const float* group, std::int64_t point) {
  const auto* values = reinterpret_cast<const Floats*>(group);
  const Ends ends(__builtin_convertvector(values[0], Doubles),
                  __builtin_convertvector(values[1], Doubles));
  return ends.count_up_to(static_cast<double>(point));
}

}  // namespace hotloop::group_search
