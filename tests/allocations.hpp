// Counts every heap allocation of the test program, including those in libraries
// (src/cli/counted_malloc.cpp). Sanitizer builds do not count.
#pragma once

#include <cstdint>

#include "core/allocations.hpp"

namespace hotloop {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

inline std::int64_t allocations() { return Allocations::count.load(); }

}  // namespace hotloop
