#include "profile/peak.hpp"

#include <algorithm>
#include <chrono>

namespace hotloop {
namespace {

constexpr int kChains = 12;  // two pipes times a latency of four or five cycles, plus some margin
constexpr int kRounds = 2000;

// Must be inlined into a function that is compiled for vectors of this width.
template <int kWidth>
inline __attribute__((always_inline)) void multiply_and_add() {
  using Vec = float __attribute__((vector_size(kWidth * sizeof(float))));
  const Vec factor = Vec{} + 0.999f, term = Vec{} + 0.001f;
  Vec x[kChains];
  for (Vec& chain : x) chain = term;
  for (int n = 0; n < kRounds; ++n) {
#pragma GCC unroll 12
    for (Vec& chain : x) {
#if defined(__FMA__)
      asm("vfmadd213ps %2, %1, %0" : "+x"(chain) : "x"(factor), "x"(term));
#else
      chain = chain * factor + term;
#endif
    }
  }
  for (Vec& chain : x) asm volatile("" : : "x"(chain));  // keeps the result alive
}

void fma_8_wide() { multiply_and_add<8>(); }

#if defined(__x86_64__) && !defined(__clang__)
// Matrix products use AVX-512 where the CPU has it, although the compiler flags do not allow it.
// Clang checks the width of asm operands before it inlines, so it cannot compile this.
__attribute__((target("avx512f"))) void fma_16_wide() { multiply_and_add<16>(); }
const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
#else
void fma_16_wide() {}
const bool has_avx512 = false;
#endif

}  // namespace

void fma_kernel() { has_avx512 ? fma_16_wide() : fma_8_wide(); }

double fma_kernel_flop() { return 2.0 * kRounds * kChains * (has_avx512 ? 16 : 8); }

double measure_peak_gflops() {
  double best = 0;  // interruptions can only make a repeat slower
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) fma_kernel();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 20 * fma_kernel_flop() / time.count() / 1e9);
  }
  return best;
}

}  // namespace hotloop
