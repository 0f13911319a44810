#include "doctor/peak.hpp"

#include <algorithm>
#include <chrono>

namespace hotloop {

void fma_kernel() {
  using Vec = float __attribute__((vector_size(32)));
  const Vec factor = Vec{} + 0.999f;
  const Vec term = Vec{} + 0.001f;
  Vec a = term, b = term, c = term, d = term, e = term, f = term, g = term, h = term, i = term,
      j = term, k = term, l = term;
  for (int n = 0; n < 2000; ++n) {
    // Twelve independent chains: two pipes times a latency of four or five cycles, with room to
    // spare.
    const auto step = [&](Vec& x) {
#if defined(__FMA__)
      asm("vfmadd213ps %2, %1, %0" : "+x"(x) : "x"(factor), "x"(term));
#else
      x = x * factor + term;
#endif
    };
    step(a), step(b), step(c), step(d), step(e), step(f), step(g), step(h), step(i), step(j),
        step(k), step(l);
  }
  Vec sum = a + b + c + d + e + f + g + h + i + j + k + l;
  asm volatile("" : : "x"(sum));  // it is wanted
}

double measure_peak_gflops() {
  double best = 0;  // interruptions only ever take away
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) fma_kernel();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 20 * kFmaKernelFlop / time.count() / 1e9);
  }
  return best;
}

}  // namespace hotloop
