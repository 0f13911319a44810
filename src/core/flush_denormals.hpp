// Numbers too small for a normal float (below 1.2e-38) count as zero while one of these lives.
//
// The moments of a weight without gradient shrink for ever, and a softmax that has made up its mind has
// probabilities as small; every operation on them costs the CPU a hundred cycles. Nothing is learnt from
// them.
// On other CPUs than x86 it does nothing.
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
  // Within another one it does nothing: setting the register costs more than looking at it.
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
