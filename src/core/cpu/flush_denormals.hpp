// While an object of this class exists, denormal floats (below 1.2e-38) count as zero.
//
// Optimiser moments of a weight without gradient keep shrinking, and a saturated softmax has
// probabilities as small. Every operation on them costs the CPU a hundred cycles, and they
// contribute nothing to learning. On CPUs other than x86 it does nothing.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace hotloop {

class FlushDenormals {
 public:
#ifdef __SSE2__
  FlushDenormals() : before_(_mm_getcsr()) {
    if (changes()) _mm_setcsr(before_ | kFlush);
  }
  ~FlushDenormals() {
    if (changes()) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned kFlush = 0x8000 | 0x0040;  // results and operands
  // A nested object does nothing: writing the register costs more than reading it.
  bool changes() const { return (before_ & kFlush) != kFlush; }
  unsigned before_;
#else
  FlushDenormals() {}
#endif
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace hotloop
