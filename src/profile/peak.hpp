// What one core of this machine can do at best, measured.
#pragma once

namespace hotloop {

// Single-precision multiply-adds from registers, in the widest vectors of the CPU.
void fma_kernel();
double fma_kernel_flop();  // operations a call

double measure_peak_gflops();  // takes about 20 ms

}  // namespace hotloop
