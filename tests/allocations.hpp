// Counts every heap allocation of the test program, whoever makes it: malloc and its relatives are
// replaced. Under a sanitizer, which replaces them itself, counting is off.
#pragma once

#include <cstdint>

namespace hotloop {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

std::int64_t allocations();

}  // namespace hotloop
