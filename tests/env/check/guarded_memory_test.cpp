#include "env/check/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace hotloop {
namespace {

TEST(GuardedMemory, FindsWritesOnBothSides) {
  GuardedMemory memory;
  for (const std::size_t count : {0, 1, 2, 15, 16, 17, 1000, 1024, 1025, 3, 100'000}) {
    auto* values = memory.take<float>(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values) % 64, 0U);
    for (std::size_t i = 0; i < count; ++i) values[i] = 1;
    EXPECT_EQ(memory.stray(), Stray::none);
    for (const int at : {-16, -1}) {
      volatile float* row = values;
      row[at] = 0;
      EXPECT_EQ(memory.stray(), Stray::before) << count << " " << at;
      memory.mend();
      EXPECT_EQ(memory.stray(), Stray::none);
    }
    for (const int at : {0, 15}) {
      volatile float* row = values + count;
      row[at] = 0;
      EXPECT_EQ(memory.stray(), Stray::after) << count << " " << at;
      memory.mend();
    }
    ASSERT_EQ(memory.take<float>(count), values);  // the same place, with the same content
    EXPECT_EQ(memory.stray(), Stray::none);
  }
}

TEST(GuardedMemory, EndsTheProcessAtWritesFurtherAway) {
  GuardedMemory memory;
  auto* bytes = memory.take<std::uint8_t>(100);
  for (const int at : {100 + 128, 100 + 4096, 100 + (1 << 20) - 1, -4096 - 64, -(1 << 20)}) {
    EXPECT_TRUE(memory.is_guard_page(bytes + at)) << at;
    volatile std::uint8_t* row = bytes;
    EXPECT_DEATH(row[at] = 1, "");
  }
  EXPECT_FALSE(memory.is_guard_page(bytes));
  EXPECT_FALSE(memory.is_guard_page(nullptr));
}

TEST(GuardedMemory, EveryThreadHasItsOwn) {
  GuardedMemory* other = nullptr;
  std::thread([&] { other = &guarded_memory(0); }).join();
  EXPECT_NE(&guarded_memory(0), other);
  EXPECT_NE(&guarded_memory(0), &guarded_memory(1));
  const auto* bytes = guarded_memory(1).take<std::uint8_t>(1);
  EXPECT_TRUE(hit_guard_page(bytes + 4096));
  EXPECT_FALSE(hit_guard_page(bytes));
}

}  // namespace
}  // namespace hotloop
