// Asks for cache lines that will be needed.
//
// To GCC a function that only calls __builtin_prefetch does nothing, so that it drops calls of it:
// instructions of our own are kept.
#pragma once

namespace hotloop {

// Soon: into the first cache.
inline void ask_for_line(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address);
#endif
}

// One of many, early: into the second cache, on whose way a CPU can have more lines than on that to
// the first.
inline void ask_for_line_early(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht1 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 0, 2);
#endif
}

}  // namespace hotloop
