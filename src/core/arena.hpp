// All memory of one owner, allocated before the loop starts and freed together.
//
// `take` returns zeroed, cache-line aligned arrays from large blocks. Every page is touched when
// it is taken, so a run that starts has the memory it will need, and resident memory stays flat.
// Moving the arena does not move its arrays.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace hotloop {

inline constexpr std::size_t kCacheLine = 64;

class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  template <class T>
  std::span<T> take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kCacheLine);
    return {static_cast<T*>(take_bytes(count, sizeof(T))), count};
  }

  std::size_t bytes() const { return bytes_; }  // taken so far, padding included

 private:
  void* take_bytes(std::size_t count, std::size_t size);

  std::vector<void*> blocks_;
  std::byte* next_ = nullptr;  // free part of the newest block
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace hotloop
