// The number of heap allocations of this process. Counted only in programs that link a replacement
// of malloc (src/cli/counted_malloc.cpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace hotloop {

struct Allocations {
  inline static std::atomic<std::int64_t> count{0};
  inline static std::atomic<bool> counted{false};  // whether `count` is maintained

  static std::int64_t now() { return count.load(std::memory_order_relaxed); }
};

}  // namespace hotloop
