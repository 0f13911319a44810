// Memory for code that may write beyond what it was given.
//
//   | no access | unused | 64 bytes of marks | the array | 64 to 127 bytes of marks | no access |
//
// A write next to the array changes the marks, which are compared after each call. A write up to
// 1 MiB away ends the process at once, except in the unused part, where it does no harm.
#pragma once

#include <cstddef>
#include <span>

namespace hotloop {

enum class Stray { none, before, after };

class GuardedMemory {
 public:
  GuardedMemory() = default;
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // An array with marks around it, until the next `take`. Its content is undefined. Allocates only
  // if it needs more than ever before; throws std::bad_alloc.
  template <class T>
  T* take(std::size_t count) {
    if (count * sizeof(T) != bytes_ || pages_ == nullptr) place(count * sizeof(T));
    return reinterpret_cast<T*>(begin_);
  }

  Stray stray() const;  // whether the marks have changed since, and on which side
  // Writes the marks again, after they have changed.
  void mend() { place(bytes_); }
  bool is_guard_page(const void* address) const;

 private:
  void place(std::size_t bytes);
  void allocate(std::size_t bytes);
  void free();

  std::byte* pages_ = nullptr;  // the first, without access
  std::size_t size_ = 0;        // of those with access
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

// This thread's memories: `number` is 0 or 1, for calls that write two arrays.
GuardedMemory& guarded_memory(int number);
// Whether an access to this address hit a guard page of this thread's memories.
bool hit_guard_page(const void* address);

}  // namespace hotloop
