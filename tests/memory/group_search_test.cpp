#include "memory/group_search.hpp"

#include <gtest/gtest.h>
#include <hotloop/rng.hpp>

#include <array>
#include <vector>

namespace hotloop {
namespace {

struct Found {
  std::int64_t number, point;
};

// The slow twin: a linear search from the beginning.
template <class T>
Found search(const T* group, std::int64_t point) {
  std::int64_t i = 0;
  for (; point >= static_cast<std::int64_t>(group[i]); ++i)
    point -= static_cast<std::int64_t>(group[i]);
  return {i, point};
}

// Numbers of every size up to the limit of a leaf, many of them 0. Searches at both ends of each
// number, and at random points.
TEST(GroupSearch, EqualsItsSlowTwin) {
  Rng rng(1, Purpose::test, 0, 0);
  for (int round = 0; round < 2000; ++round) {
    alignas(64) std::array<std::int64_t, 8> integers;
    alignas(64) std::array<float, 8> floats;
    std::int64_t total = 0;
    for (int i = 0; i < 8; ++i) {
      const auto bits = static_cast<int>(rng.below(49));
      floats[i] = rng.below(3) == 0 ? 0.0f : static_cast<float>(std::int64_t{1} << bits);
      if (floats[i] > 0 && bits > 0 && bits < 24)
        floats[i] -= static_cast<float>(rng.below(1 << bits));
      integers[i] = static_cast<std::int64_t>(floats[i]);
      total += integers[i];
    }
    if (total == 0) continue;
    std::vector<std::int64_t> points = {0, total - 1};
    std::int64_t end = 0;
    for (const std::int64_t number : integers) {
      end += number;
      if (end > 0) points.push_back(end - 1);
      if (end < total) points.push_back(end);
    }
    for (int i = 0; i < 10; ++i)
      points.push_back(static_cast<std::int64_t>(rng.uniform() * static_cast<double>(total - 1)));
    for (const std::int64_t point : points) {
      const Found expected = search(integers.data(), point);
      std::int64_t rest = point;
      ASSERT_EQ(group_search::find(integers.data(), rest), expected.number) << point;
      ASSERT_EQ(rest, expected.point);
      ASSERT_EQ(group_search::find(floats.data(), point), expected.number) << point;
    }
  }
}

// Integers that doubles cannot represent: sums of inner levels reach 2^62.
TEST(GroupSearch, IntegersUseAllBits) {
  alignas(64) const std::array<std::int64_t, 8> group = {(std::int64_t{1} << 60) + 1, 1, 0, 2,
                                                         std::int64_t{1} << 61,       0, 1, 5};
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    for (const std::int64_t inside : {std::int64_t{0}, group[i] - 1}) {
      if (group[i] == 0) continue;
      std::int64_t point = start + inside;
      EXPECT_EQ(group_search::find(group.data(), point), i);
      EXPECT_EQ(point, inside);
    }
    start += group[i];
  }
}

}  // namespace
}  // namespace hotloop
