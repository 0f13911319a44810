// Prefetches cache lines that will be needed.
//
// GCC treats a function that only calls __builtin_prefetch as having no effect and removes calls to
// it. It keeps inline assembly.
#pragma once

namespace hotloop {

// Into the first-level cache: for lines that are needed soon.
inline void prefetch(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address);
#endif
}

// Into the second-level cache: for many lines at once. A CPU can have more outstanding requests to
// that cache than to the first.
inline void prefetch_l2(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht1 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 0, 2);
#endif
}

}  // namespace hotloop
