#include "core/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace hotloop {
namespace {

TEST(Arena, ArraysAreZeroedAlignedAndDisjoint) {
  Arena arena;
  std::vector<std::span<float>> arrays;
  for (std::size_t size : {1u, 3u, 16u, 17u, 100'000u, 5u, 0u, 70'000u}) {
    arrays.push_back(arena.take<float>(size));
    EXPECT_EQ(arrays.back().size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays.back().data()) % kCacheLine, 0u);
    EXPECT_TRUE(
        std::all_of(arrays.back().begin(), arrays.back().end(), [](float x) { return x == 0; }));
    std::fill(arrays.back().begin(), arrays.back().end(), static_cast<float>(arrays.size()));
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (float x : arrays[i])
      ASSERT_EQ(x, static_cast<float>(i + 1)) << "array " << i << " was overwritten";
  }
  EXPECT_GE(arena.bytes(), 4 * (1 + 3 + 16 + 17 + 100'000 + 5 + 70'000u));
}

TEST(Arena, ArraysStayWhereTheyAreWhenItMoves) {
  Arena first;
  const std::span<int> array = first.take<int>(10);
  array[9] = 7;
  Arena second = std::move(first);
  EXPECT_EQ(array[9], 7);
  first = std::move(second);
  EXPECT_EQ(array[9], 7);
}

TEST(Arena, AnImpossibleSizeIsBadAlloc) {
  Arena arena;
  EXPECT_THROW(arena.take<double>(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
  EXPECT_EQ(arena.take<int>(3).size(), 3u);
}

}  // namespace
}  // namespace hotloop
