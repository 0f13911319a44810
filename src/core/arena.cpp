#include "core/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace hotloop {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

// Large blocks use huge pages if the system has them. Otherwise random draws from a replay memory
// of many megabytes spend more time on page-table look-ups than on reads.
constexpr std::size_t kHugePage = std::size_t{1} << 21;

void* allocate(std::size_t bytes) {
  const bool large = bytes >= 2 * kHugePage;
  const std::size_t alignment = large ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded);
  if (block == nullptr) throw std::bad_alloc();
  if (large) madvise(block, rounded, MADV_HUGEPAGE);
  return block;
}

}  // namespace

Arena::Arena(Arena&& other) noexcept
    : blocks_(std::exchange(other.blocks_, {})),
      next_(std::exchange(other.next_, nullptr)),
      left_(std::exchange(other.left_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(blocks_, other.blocks_);
  std::swap(next_, other.next_);
  std::swap(left_, other.left_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  for (void* block : blocks_) std::free(block);
}

void* Arena::take_bytes(std::size_t count, std::size_t size) {
  if (count > (std::numeric_limits<std::size_t>::max() - kBlockBytes) / size)
    throw std::bad_alloc();
  const std::size_t wanted = (count * size + kCacheLine - 1) / kCacheLine * kCacheLine;
  if (wanted > left_) {
    const std::size_t block_bytes = std::max(wanted, kBlockBytes);
    blocks_.reserve(blocks_.size() + 1);
    void* block = allocate(block_bytes);
    blocks_.push_back(block);
    std::memset(block, 0, block_bytes);
    next_ = static_cast<std::byte*>(block);
    left_ = block_bytes;
  }
  void* result = next_;
  next_ += wanted;
  left_ -= wanted;
  bytes_ += wanted;
  return result;
}

}  // namespace hotloop
