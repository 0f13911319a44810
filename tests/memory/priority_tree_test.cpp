#include "memory/priority_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "memory/random_words.hpp"
#include "reference/priority_tree.hpp"
#include "tests/allocations.hpp"

namespace hotloop {
namespace {

std::vector<std::uint64_t> words(std::size_t count, std::uint64_t step) {
  std::vector<std::uint64_t> result(count);
  random_words(Rng(1, Purpose::test, 0, step), result);
  return result;
}

// A tree and its memory.
struct OwnTree {
  explicit OwnTree(std::int64_t leaves) : tree(arena, leaves) {}
  Arena arena;
  PriorityTree tree;
};

// An integer rounded to float.
std::int64_t rounded(std::int64_t priority) {
  return static_cast<std::int64_t>(static_cast<float>(priority));
}

// The numbers are overwritten, so this takes a copy. Every leaf is reported once, in order.
void draw(const PriorityTree& tree, std::vector<std::uint64_t> random,
          std::vector<std::int64_t>& drawn, std::vector<float>& priorities) {
  std::vector<std::int64_t> found;
  tree.draw(random, drawn, priorities, [&](std::int64_t leaf) { found.push_back(leaf); });
  ASSERT_EQ(found, std::vector<std::int64_t>(drawn.begin(), drawn.begin() + random.size()));
}

// Random batches of changes, fills of neighbours and draws; priorities from 0 to `largest`.
void compare_with_twin(std::int64_t count, std::int64_t largest, Rng& rng) {
  OwnTree own(count);
  PriorityTree& tree = own.tree;
  reference::PriorityTree twin{std::vector<std::int64_t>(count)};
  const auto priority = [&] {
    const std::int64_t kinds[] = {0, 1, PriorityTree::kOne - rng.below(1 << 20),
                                  (PriorityTree::kOne - rng.below(1 << 20)) * 4, largest};
    return rounded(kinds[rng.below(5)]);
  };
  const bool huge = count > 1'000'000;  // the twin is slow
  for (int round = 0; round < (huge ? 1 : count < 100'000 ? 60 : 4); ++round) {
    const std::int64_t first = rng.below(count), length = 1 + rng.below(count - first);
    const std::int64_t same = priority();
    tree.fill(first, length, static_cast<float>(same));
    std::fill_n(twin.leaves.begin() + first, length, same);

    std::vector<std::int64_t> leaves(1 + rng.below(40));
    std::vector<float> values(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      leaves[i] = rng.below(count);  // often the same leaf again: the last value counts
      twin.leaves[leaves[i]] = priority();
      values[i] = static_cast<float>(twin.leaves[leaves[i]]);
    }
    tree.set(leaves, values);
    ASSERT_EQ(tree.total(), twin.total());
    for (std::int64_t leaf = 0; leaf < count; ++leaf)
      ASSERT_EQ(static_cast<std::int64_t>(tree[leaf]), twin.leaves[leaf]);
    if (twin.total() == 0) continue;

    const auto random = words(huge ? 4 : 1 + rng.below(70), round);
    std::vector<std::int64_t> drawn(random.size());
    std::vector<float> priorities(random.size());
    draw(tree, random, drawn, priorities);
    for (std::size_t k = 0; k < random.size(); ++k) {
      ASSERT_EQ(drawn[k], twin.draw(random[k], k, random.size())) << count << " leaves, draw " << k;
      ASSERT_EQ(static_cast<std::int64_t>(priorities[k]), twin.leaves[drawn[k]]);
      ASSERT_GT(priorities[k], 0);
    }
  }
}

// Trees of one to six levels of sums: the fewest leaves that need a level, and the most that do
// not. The highest level has up to 64 entries.
TEST(PriorityTree, EqualsItsSlowTwin) {
  Rng rng(1, Purpose::test, 1, 0);
  for (const std::int64_t count : {1, 2, 7, 8, 9, 63, 64, 65, 500, 512, 513, 4096, 4097, 32'768,
                                   32'769, 262'144, 262'145, 2'097'153, 16'777'217}) {
    compare_with_twin(count, 8 * PriorityTree::kOne, rng);
    compare_with_twin(count, OwnTree(count).tree.limit(), rng);
  }
}

// The ends of the strata: the smallest and the largest random number, with gaps of zeros between.
TEST(PriorityTree, ZeroIsNeverDrawn) {
  OwnTree own(1000);
  PriorityTree& tree = own.tree;
  std::vector<std::int64_t> drawn(3);
  std::vector<float> priorities(3);
  for (const std::int64_t leaf : {0, 7, 8, 512, 999}) {
    tree.fill(0, 1000, 0);
    tree.fill(leaf, 1, 1);  // one unit: two of the three strata are empty
    for (const std::uint64_t u : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      draw(tree, std::vector<std::uint64_t>(3, u), drawn, priorities);
      EXPECT_EQ(drawn, std::vector<std::int64_t>(3, leaf));
      EXPECT_EQ(priorities, std::vector<float>(3, 1));
    }
  }
}

// Four leaves of priority 1, 2, 3, 4 and ten strata of one unit each, worked by hand.
TEST(PriorityTree, StrataWorkedByHand) {
  OwnTree own(4);
  PriorityTree& tree = own.tree;
  tree.set(std::vector<std::int64_t>{0, 1, 2, 3}, std::vector<float>{1, 2, 3, 4});
  std::vector<std::int64_t> drawn(10);
  std::vector<float> priorities(10);
  draw(tree, words(10, 0), drawn, priorities);
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{0, 1, 1, 2, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(priorities, (std::vector<float>{1, 2, 2, 3, 3, 3, 4, 4, 4, 4}));
}

void expect_same_draws(const PriorityTree& a, const PriorityTree& b) {
  ASSERT_EQ(a.total(), b.total());
  const auto random = words(100'000, 4);
  std::vector<std::int64_t> from_a(random.size()), from_b(random.size());
  std::vector<float> priorities(random.size());
  draw(a, random, from_a, priorities);
  draw(b, random, from_b, priorities);
  EXPECT_EQ(from_a, from_b);
}

// After a million changes the sums are still exact: a tree made from the leaves, one by one or all
// at once, draws the same.
TEST(PriorityTree, DoesNotDrift) {
  constexpr std::int64_t kLeaves = 3000;
  OwnTree changed(kLeaves), other(kLeaves), third(kLeaves);
  PriorityTree& tree = changed.tree;
  PriorityTree& filled = other.tree;
  PriorityTree& rebuilt = third.tree;
  Rng rng(1, Purpose::test, 2, 0);
  std::vector<std::int64_t> leaves(32);
  std::vector<float> values(32);
  for (int change = 0; change < 1'000'000; change += 32) {
    for (int i = 0; i < 32; ++i) {
      leaves[i] = rng.below(kLeaves);
      values[i] = static_cast<float>(
          rounded(static_cast<std::int64_t>(rng.uniform() * static_cast<double>(tree.limit()))));
    }
    tree.set(leaves, values);
  }
  std::int64_t sum = 0;
  for (std::int64_t leaf = 0; leaf < kLeaves; ++leaf) {
    sum += static_cast<std::int64_t>(tree[leaf]);
    filled.fill(leaf, 1, tree[leaf]);
  }
  std::ranges::copy(tree.leaves(), rebuilt.leaves().begin());
  rebuilt.rebuild();
  EXPECT_EQ(tree.total(), sum);
  expect_same_draws(tree, filled);
  expect_same_draws(tree, rebuilt);
}

// For sizes with one to four levels of sums; previous content must not matter.
TEST(PriorityTree, IsRebuiltFromItsLeaves) {
  for (const std::int64_t count : {1, 1000, 40'000, 300'000}) {
    OwnTree own(count), other(count);
    PriorityTree& tree = own.tree;
    PriorityTree& rebuilt = other.tree;
    Rng rng(1, Purpose::test, 5, 0);
    for (std::int64_t leaf = 0; leaf < count; ++leaf)
      tree.fill(leaf, 1, static_cast<float>(rng.below(1 << 24)));
    tree.fill(0, 1, 1);
    rebuilt.fill(0, count, 7);
    std::ranges::copy(tree.leaves(), rebuilt.leaves().begin());
    rebuilt.rebuild();
    expect_same_draws(tree, rebuilt);
    const std::vector<std::int64_t> changed = {count / 2};
    tree.set(changed, std::vector<float>{3});
    rebuilt.set(changed, std::vector<float>{3});
    expect_same_draws(tree, rebuilt);
  }
}

// 20 leaves of priority 1 to 20, 210,000 draws with one stratum each, so that they are independent:
// chi-square with 19 degrees of freedom stays below 43.8 with probability 0.999. Stratified draws
// come much closer: a leaf's count is then off by at most the two strata that it shares with
// others.
TEST(PriorityTree, FrequenciesFollowPriorities) {
  OwnTree own(20);
  PriorityTree& tree = own.tree;
  for (int i = 0; i < 20; ++i) tree.fill(i, 1, static_cast<float>((i + 1) * PriorityTree::kOne));
  const auto random = words(210'000, 3);
  std::vector<int> alone(20), together(20);
  std::vector<std::int64_t> drawn(random.size());
  std::vector<float> priorities(random.size());
  for (std::size_t k = 0; k < random.size(); ++k) {
    draw(tree, {random[k]}, drawn, priorities);
    ++alone[drawn[0]];
  }
  draw(tree, random, drawn, priorities);
  for (const std::int64_t leaf : drawn) ++together[leaf];
  double chi_square = 0;
  for (int i = 0; i < 20; ++i) {
    const double expected = 1000.0 * (i + 1);
    chi_square += (alone[i] - expected) * (alone[i] - expected) / expected;
    EXPECT_NEAR(together[i], expected, 2) << i;
  }
  EXPECT_LT(chi_square, 43.8);
  EXPECT_GT(chi_square, 5.4);  // equally improbable: too good to be random
}

TEST(PriorityTree, BytesEqualItsMemory) {
  for (const std::int64_t leaves : {16, 512, 528, 4096, 32'768, 32'784}) {
    const OwnTree own(leaves);
    EXPECT_EQ(own.arena.bytes(), PriorityTree::bytes_needed(leaves)) << leaves;
  }
  // A float per leaf, and 8 bytes per 8 leaves, per 64 leaves, and so on.
  EXPECT_NEAR(PriorityTree::bytes_needed(1'000'000) / 1e6, 4 + 1 + 1 / 8.0 + 1 / 64.0 + 1 / 512.0,
              0.001);
}

TEST(PriorityTree, AllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  OwnTree own(1000);
  PriorityTree& tree = own.tree;
  auto random = words(32, 0);
  std::vector<std::int64_t> drawn(32);
  std::vector<float> priorities(32);
  const std::int64_t before = allocations();
  tree.fill(0, 1000, 5);
  tree.draw(random, drawn, priorities, [](std::int64_t) {});
  tree.set(drawn, priorities);
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace hotloop
