// The measured peak throughput of one core of this machine.
#pragma once

namespace hotloop {

// Single-precision multiply-adds from registers, in the widest vectors of the CPU.
void fma_kernel();
double fma_kernel_flop();  // floating-point operations per call

double measure_peak_gflops();  // takes about 20 ms

}  // namespace hotloop
