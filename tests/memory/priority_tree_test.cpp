#include "memory/priority_tree.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "memory/random_words.hpp"
#include "reference/priority_tree.hpp"
#include "tests/allocations.hpp"

namespace hotloop {
namespace {

std::vector<std::uint64_t> words(std::size_t count, std::uint64_t step) {
  std::vector<std::uint64_t> result(count);
  random_words(1, Purpose::test, 0, step, result);
  return result;
}

std::vector<std::int64_t> all_nodes(PriorityTree& tree, std::int64_t leaves) {
  std::vector<std::int64_t> nodes;
  tree.visit(leaves, [&](const std::string&, std::span<std::int64_t> level) {
    nodes.insert(nodes.end(), level.begin(), level.end());
  });
  return nodes;
}

// Random batches of changes, fills of neighbours and draws; priorities from 0 to the limit.
TEST(PriorityTree, EqualsItsSlowTwin) {
  Rng rng(1, Purpose::test, 1, 0);
  for (const std::int64_t count : {1, 2, 7, 8, 9, 63, 64, 65, 500, 4097}) {
    Arena arena;
    PriorityTree tree(arena, count);
    reference::PriorityTree twin{std::vector<std::int64_t>(count)};
    const auto priority = [&] {
      const std::int64_t kinds[] = {0, 1, PriorityTree::kOne + rng.below(1 << 20), tree.limit()};
      return kinds[rng.below(4)];
    };
    for (int round = 0; round < 60; ++round) {
      const std::int64_t first = rng.below(count), length = 1 + rng.below(count - first);
      const std::int64_t same = priority();
      tree.fill(first, length, same);
      std::fill_n(twin.leaves.begin() + first, length, same);

      std::vector<std::int64_t> leaves(1 + rng.below(40)), values(leaves.size());
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        leaves[i] = rng.below(count);  // often the same leaf again: the last value counts
        values[i] = priority();
        twin.leaves[leaves[i]] = values[i];
      }
      tree.set(leaves, values);
      ASSERT_EQ(tree.total(), twin.total());
      for (std::int64_t leaf = 0; leaf < count; ++leaf) ASSERT_EQ(tree[leaf], twin.leaves[leaf]);
      if (twin.total() == 0) continue;

      const auto random = words(1 + rng.below(70), round);
      std::vector<std::int64_t> drawn(random.size()), priorities(random.size());
      tree.draw(random, drawn, priorities);
      for (std::size_t k = 0; k < random.size(); ++k) {
        ASSERT_EQ(drawn[k], twin.draw(random[k], k, random.size()))
            << count << " leaves, draw " << k;
        ASSERT_EQ(priorities[k], twin.leaves[drawn[k]]);
        ASSERT_GT(priorities[k], 0);
      }
    }
  }
}

// The ends of the strata: the smallest and the largest random number, with gaps of zeros between.
TEST(PriorityTree, ZeroIsNeverDrawn) {
  Arena arena;
  PriorityTree tree(arena, 1000);
  std::vector<std::int64_t> drawn(3), priorities(3);
  for (const std::int64_t leaf : {0, 7, 8, 512, 999}) {
    tree.fill(0, 1000, 0);
    tree.fill(leaf, 1, 1);  // one unit: two of the three strata are empty
    for (const std::uint64_t u : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      tree.draw(std::vector<std::uint64_t>(3, u), drawn, priorities);
      EXPECT_EQ(drawn, std::vector<std::int64_t>(3, leaf));
      EXPECT_EQ(priorities, std::vector<std::int64_t>(3, 1));
    }
  }
}

// Four leaves of priority 1, 2, 3, 4 and ten strata of one unit each, worked by hand.
TEST(PriorityTree, StrataWorkedByHand) {
  Arena arena;
  PriorityTree tree(arena, 4);
  tree.set(std::vector<std::int64_t>{0, 1, 2, 3}, std::vector<std::int64_t>{1, 2, 3, 4});
  std::vector<std::int64_t> drawn(10), priorities(10);
  tree.draw(words(10, 0), drawn, priorities);
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{0, 1, 1, 2, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(priorities, (std::vector<std::int64_t>{1, 2, 2, 3, 3, 3, 4, 4, 4, 4}));
}

// After a million changes the sums are exact, and a tree made from the leaves is the same to the bit.
TEST(PriorityTree, DoesNotDrift) {
  constexpr std::int64_t kLeaves = 3000;
  Arena arena;
  PriorityTree tree(arena, kLeaves);
  Rng rng(1, Purpose::test, 2, 0);
  std::vector<std::int64_t> leaves(32), values(32);
  for (int change = 0; change < 1'000'000; change += 32) {
    for (int i = 0; i < 32; ++i) {
      leaves[i] = rng.below(kLeaves);
      values[i] = static_cast<std::int64_t>(rng.uniform() * static_cast<double>(tree.limit()));
    }
    tree.set(leaves, values);
  }
  PriorityTree rebuilt(arena, kLeaves);
  std::int64_t sum = 0;
  for (std::int64_t leaf = 0; leaf < kLeaves; ++leaf) {
    sum += tree[leaf];
    rebuilt.fill(leaf, 1, tree[leaf]);
  }
  EXPECT_EQ(tree.total(), sum);
  EXPECT_EQ(all_nodes(tree, kLeaves), all_nodes(rebuilt, kLeaves));
}

// 20 leaves of priority 1 to 20, 210,000 draws with one stratum each, so that they are independent:
// chi-square with 19 degrees of freedom stays below 43.8 with probability 0.999. Stratified draws
// come much closer: a leaf's count is then off by at most the two strata that it shares.
TEST(PriorityTree, FrequenciesFollowPriorities) {
  Arena arena;
  PriorityTree tree(arena, 20);
  for (int i = 0; i < 20; ++i) tree.fill(i, 1, (i + 1) * PriorityTree::kOne);
  const auto random = words(210'000, 3);
  std::vector<int> alone(20), together(20);
  std::vector<std::int64_t> drawn(random.size()), priorities(random.size());
  for (std::size_t k = 0; k < random.size(); ++k) {
    tree.draw(std::span(random).subspan(k, 1), drawn, priorities);
    ++alone[drawn[0]];
  }
  tree.draw(random, drawn, priorities);
  for (const std::int64_t leaf : drawn) ++together[leaf];
  double chi_square = 0;
  for (int i = 0; i < 20; ++i) {
    const double expected = 1000.0 * (i + 1);
    chi_square += (alone[i] - expected) * (alone[i] - expected) / expected;
    EXPECT_NEAR(together[i], expected, 2) << i;
  }
  EXPECT_LT(chi_square, 43.8);
  EXPECT_GT(chi_square, 5.4);  // as improbable: too good to be random
}

TEST(PriorityTree, BytesAreWhatItTakes) {
  for (const std::int64_t leaves : {1, 8, 9, 1000, 4096, 5000}) {
    Arena arena;
    PriorityTree tree(arena, leaves);
    EXPECT_EQ(arena.bytes(), PriorityTree::bytes_needed(leaves));
    EXPECT_EQ(all_nodes(tree, leaves).size() * sizeof(std::int64_t), arena.bytes());
  }
  EXPECT_NEAR(PriorityTree::bytes_needed(1'000'000) / 1e6, 8 * 8 / 7.0, 0.001);
  EXPECT_EQ(PriorityTree::bytes_needed(0), 0);
}

TEST(PriorityTree, AllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  Arena arena;
  PriorityTree tree(arena, 1000);
  const auto random = words(32, 0);
  std::vector<std::int64_t> drawn(32), priorities(32);
  const std::int64_t before = allocations();
  tree.fill(0, 1000, 5);
  tree.draw(random, drawn, priorities);
  tree.set(drawn, priorities);
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace hotloop
