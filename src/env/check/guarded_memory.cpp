#include "env/check/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

namespace hotloop {
namespace {

constexpr std::size_t kMarks = 64;                    // bytes, at least, on each side
constexpr std::size_t kAlignment = 64;                // of the array
constexpr std::size_t kGuard = std::size_t{1} << 20;  // bytes without access on each side
constexpr auto kMarkBytes = [] {  // no float, flag or counter that a world writes looks like it
  std::array<unsigned char, kMarks + kAlignment> marks{};
  for (std::size_t i = 0; i < marks.size(); ++i) {
    marks[i] = static_cast<unsigned char>(0xA7 ^ (i * 0x5B));
  }
  return marks;
}();

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

GuardedMemory::~GuardedMemory() { free(); }

void GuardedMemory::free() {
  if (pages_ != nullptr) munmap(pages_, size_ + 2 * kGuard);
  pages_ = nullptr;
}

void GuardedMemory::allocate(std::size_t bytes) {
  const std::size_t page = page_bytes();
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  free();
  size_ = (bytes + page - 1) / page * page;
  void* all = mmap(nullptr, size_ + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<std::byte*>(all);
  if (mprotect(pages_ + kGuard, size_, PROT_READ | PROT_WRITE) != 0) {
    free();
    throw std::bad_alloc();
  }
}

void GuardedMemory::place(std::size_t bytes) {
  const std::size_t needed = bytes + 2 * kMarks + kAlignment;
  if (pages_ == nullptr || needed > size_) allocate(needed);
  std::byte* const end = pages_ + kGuard + size_;
  begin_ = end - kMarks - bytes;
  begin_ -= reinterpret_cast<std::uintptr_t>(begin_) % kAlignment;
  bytes_ = bytes;
  std::memcpy(begin_ - kMarks, kMarkBytes.data(), kMarks);
  std::memcpy(begin_ + bytes, kMarkBytes.data(), static_cast<std::size_t>(end - begin_) - bytes);
}

Stray GuardedMemory::stray() const {
  const std::byte* const end = pages_ + kGuard + size_;
  const std::byte* const after = begin_ + bytes_;
  if (std::memcmp(after, kMarkBytes.data(), static_cast<std::size_t>(end - after)) != 0) {
    return Stray::after;
  }
  return std::memcmp(begin_ - kMarks, kMarkBytes.data(), kMarks) != 0 ? Stray::before : Stray::none;
}

bool GuardedMemory::is_guard_page(const void* address) const {
  if (pages_ == nullptr) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto first = reinterpret_cast<std::uintptr_t>(pages_);
  const std::uintptr_t last = first + kGuard + size_;
  return (at >= first && at < first + kGuard) || (at >= last && at < last + kGuard);
}

namespace {
thread_local std::array<GuardedMemory, 2> memories;
}  // namespace

GuardedMemory& guarded_memory(int number) { return memories[number]; }

bool hit_guard_page(const void* address) {
  return memories[0].is_guard_page(address) || memories[1].is_guard_page(address);
}

}  // namespace hotloop
