// Eight float lanes as a GCC vector type, which compiles for any CPU; for kernels where Eigen's
// arrays are slow.
#pragma once

#ifdef __FMA__
#include <immintrin.h>
#endif

#include <cmath>

namespace hotloop {

using Vec = float __attribute__((vector_size(32), aligned(4), may_alias));
inline constexpr int kVec = 8;

inline Vec load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline Vec broadcast(float f) { return Vec{f, f, f, f, f, f, f, f}; }

// a * b + c, rounded once if the CPU has FMA; the vector and the scalar version give the same bits.
inline Vec multiply_add(Vec a, Vec b, Vec c) {
#ifdef __FMA__
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
inline float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// The lane sums of four vectors; `sum` adds the lanes of one vector in the same order.
using Four = float __attribute__((vector_size(16), aligned(4), may_alias));
inline Four sums(Vec a, Vec b, Vec c, Vec d) {
  const Vec ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
                 __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  const Vec cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13) +
                 __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  const Vec sum = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                  __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  return __builtin_shufflevector(sum, sum, 0, 1, 2, 3) +
         __builtin_shufflevector(sum, sum, 4, 5, 6, 7);
}
inline float sum(Vec a) { return sums(a, a, a, a)[0]; }

}  // namespace hotloop
