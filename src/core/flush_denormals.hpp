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
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushResults | kFlushOperands); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlushResults = 0x8000, kFlushOperands = 0x0040;
  unsigned before_;
#else
  FlushDenormals() {}
#endif
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace hotloop
