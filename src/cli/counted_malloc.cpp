// Counts every call of malloc and its relatives. Under a sanitizer, which replaces them itself,
// nothing is counted.
#include <bit>
#include <cerrno>
#include <cstddef>

#include "core/allocations.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

void count_one() { hotloop::Allocations::count.fetch_add(1, std::memory_order_relaxed); }
[[maybe_unused]] const bool counted = [] {
  hotloop::Allocations::counted = true;
  return true;
}();

}  // namespace

extern "C" {  // glibc's names for the replaced functions
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  count_one();
  return __libc_malloc(size);
}
void* calloc(std::size_t items, std::size_t size) {
  count_one();
  return __libc_calloc(items, size);
}
void* realloc(void* old, std::size_t size) {
  count_one();
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
  count_one();
  const int error = errno;  // the result is returned, not stored there
  void* const memory = __libc_memalign(alignment, size);
  errno = error;
  if (memory == nullptr) return ENOMEM;
  *result = memory;
  return 0;
}
}
#endif
