// The allocator that counts keeps to the rules of the one it replaces.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "core/allocations.hpp"

namespace hotloop {
namespace {

TEST(CountedMalloc, PosixMemalign) {
  if (!Allocations::counted) GTEST_SKIP() << "allocations are not counted in this build";
  int untouched = 0;
  void* memory = &untouched;
  for (const std::size_t wrong : {0, 1, 4, 24, 100}) {
    EXPECT_EQ(posix_memalign(&memory, wrong, 64), EINVAL) << wrong;
  }
  errno = 0;
  volatile std::size_t too_much = PTRDIFF_MAX;
  EXPECT_EQ(posix_memalign(&memory, 64, too_much), ENOMEM);
  EXPECT_EQ(memory, &untouched);
  EXPECT_EQ(errno, 0);
  const std::uint64_t before = Allocations::now();
  ASSERT_EQ(posix_memalign(&memory, 4096, 64), 0);
  EXPECT_EQ(Allocations::now(), before + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
  std::free(memory);
}

}  // namespace
}  // namespace hotloop
