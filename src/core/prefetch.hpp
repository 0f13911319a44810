// Asks for a cache line that will be needed soon.
#pragma once

namespace hotloop {

// To GCC a function that only calls __builtin_prefetch does nothing, so that it drops calls of it: an
// instruction of our own is kept.
inline void ask_for_line(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address);
#endif
}

}  // namespace hotloop
