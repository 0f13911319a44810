// What this machine is, as far as a run needs to know.
#pragma once

#include <cstdint>
#include <string>

namespace hotloop {

std::string version();   // of hotloop, "1.2.3"
std::string cpu_name();  // "unknown" where the system does not say
int usable_cores();      // that this process may run on: fewer than there are, in many containers
std::int64_t memory_bytes();    // that this process may still take: what is free, or a limit's rest
std::int64_t resident_bytes();  // that this process uses now; allocates nothing

}  // namespace hotloop
