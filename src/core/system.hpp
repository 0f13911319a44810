// Facts about this machine and process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace hotloop {

std::string version();        // of hotloop, "1.2.3"
std::string cpu_name();       // "unknown" if the system does not report it
int usable_cores();           // that this process may run on; in containers often not all
std::int64_t memory_bytes();  // that this process may still allocate: free, and within limits
// The same by the limit of a control group alone, from the files in its folder; INT64_MAX if it has
// none. Cached pages of files count as free.
std::int64_t cgroup_memory_bytes(const std::string& folder);
std::int64_t resident_bytes();  // in use by this process; this call allocates nothing

// Throws std::bad_alloc if that much memory cannot be mapped: for libraries that crash without it.
void require_memory(std::size_t bytes);

// The message of an exception: what(), and "out of memory" for std::bad_alloc.
const char* message_of(const std::exception& error);

}  // namespace hotloop
