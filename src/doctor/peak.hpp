// What one core of this machine can do at best, measured.
#pragma once

namespace hotloop {

// Single-precision multiply-adds from registers: kFmaKernelFlop operations a call.
void fma_kernel();
inline constexpr double kFmaKernelFlop = 2000.0 * 12 * 8 * 2;

double measure_peak_gflops();  // takes about 20 ms

}  // namespace hotloop
