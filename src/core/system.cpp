#include "core/system.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace hotloop {

std::string version() { return HOTLOOP_VERSION; }

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  return known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency());
}

std::int64_t memory_bytes() {
  std::int64_t bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  std::ifstream limit("/sys/fs/cgroup/memory.max");  // "max" where there is none
  if (std::int64_t most = 0; limit >> most) bytes = std::min(bytes, most);
  return bytes;
}

std::int64_t resident_bytes() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t got = read(file, text.data(), text.size() - 1);
  close(file);
  if (got <= 0) return 0;
  char* end = nullptr;
  std::strtoll(text.data(), &end, 10);  // the first number is the virtual size
  return std::strtoll(end, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

}  // namespace hotloop
