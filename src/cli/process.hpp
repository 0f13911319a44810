// What every command relies on: standard streams, signals, a stack, and a message when memory runs
// out.
#pragma once

namespace hotloop {

// Called first. Throws RunError or std::bad_alloc if the limits of the shell (ulimit) are too small.
//
// SIGPIPE and SIGXFSZ are ignored from here on, so that a closed pipe and a limit on file sizes make
// a write fail instead of ending the process in the middle of a run. Other programs that it starts
// must not inherit this (program.cpp, bench_command.cpp).
void prepare_process();

void report_out_of_memory();  // on standard error; allocates nothing

}  // namespace hotloop
