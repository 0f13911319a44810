// How many heap allocations this process has made, where somebody counts them: a program that links
// a replacement of malloc (src/cli/counted_malloc.cpp) does.
#pragma once

#include <atomic>
#include <cstdint>

namespace hotloop {

struct Allocations {
  inline static std::atomic<std::int64_t> count{0};
  inline static std::atomic<bool> counted{false};  // whether `count` moves at all

  static std::int64_t now() { return count.load(std::memory_order_relaxed); }
};

}  // namespace hotloop
