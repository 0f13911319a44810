#include "core/system.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
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

std::int64_t cgroup_memory_bytes(const std::string& folder) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const auto number_in = [&](const char* name, std::int64_t otherwise) {
    std::ifstream file(folder + "/" + name);
    std::int64_t number = 0;
    return file >> number ? number : otherwise;
  };
  // Version 2 of control groups, then version 1. Without a limit there is no such file, or it has
  // the word "max" or a huge number.
  const std::int64_t limit = number_in("memory.max", number_in("memory.limit_in_bytes", kNone));
  if (limit == kNone) return kNone;
  const std::int64_t used = number_in("memory.current", number_in("memory.usage_in_bytes", 0));
  std::int64_t cached = 0;
  std::ifstream stat(folder + "/memory.stat");
  for (std::string line; std::getline(stat, line);) {
    for (const std::string name : {"inactive_file ", "total_inactive_file "}) {
      if (line.starts_with(name)) cached = std::atoll(line.c_str() + name.size());
    }
  }
  return std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, used - cached));
}

std::int64_t memory_bytes() {
  std::int64_t bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  const auto limit_to = [&](std::int64_t max) { bytes = std::clamp<std::int64_t>(max, 0, bytes); };
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    if (line.starts_with("MemAvailable:")) limit_to(std::stoll(line.substr(13)) * 1024);
  }
  for (const char* folder : {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"}) {
    limit_to(cgroup_memory_bytes(folder));
  }
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages;
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    limit_to(static_cast<std::int64_t>(limit.rlim_cur) - pages * sysconf(_SC_PAGESIZE));
  }
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

void require_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  munmap(memory, bytes);
}

const char* message_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
}

}  // namespace hotloop
