#include "memory/priority_tree.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cassert>

namespace hotloop {
namespace {

constexpr auto kFan = PriorityTree::kFan;
__extension__ using Wide = unsigned __int128;

std::int64_t nodes_above(std::int64_t count) { return (count + kFan - 1) / kFan; }

// Half a node, as vector registers hold it.
using Four = std::int64_t __attribute__((vector_size(32), may_alias));
using UnalignedFour = std::int64_t __attribute__((vector_size(32), aligned(8), may_alias));

// Children whose prefix is below the bound: the index of the child that `bound - 1` falls into.
inline std::int64_t child_of(const std::int64_t* node, std::int64_t bound) {
  const Four* halves = reinterpret_cast<const Four*>(node);
  const Four first = halves[0] < bound, second = halves[1] < bound;  // -1 where it holds
#ifdef __AVX2__
  const __m256i all =
      _mm256_packs_epi32(reinterpret_cast<__m256i>(first), reinterpret_cast<__m256i>(second));
  return __builtin_popcount(_mm256_movemask_ps(_mm256_castsi256_ps(all)));
#else
  const Four count = first + second;
  return -(count[0] + count[1] + count[2] + count[3]);
#endif
}

// The sum of all children before `child`, without a branch that nobody could predict.
inline std::int64_t sum_before(const std::int64_t* node, std::int64_t child) {
  const std::int64_t any = -static_cast<std::int64_t>(child != 0);
  return node[(child - 1) & (kFan - 1)] & any;
}

// Adds to a child: its prefix and all later ones grow.
inline void add(std::int64_t* node, std::int64_t child, std::int64_t difference) {
  static constexpr std::int64_t kLater[2 * kFan] = {0,  0,  0,  0,  0,  0,  0,  0,
                                                    -1, -1, -1, -1, -1, -1, -1, -1};
  const auto* later = reinterpret_cast<const UnalignedFour*>(kLater + kFan - child);
  Four* halves = reinterpret_cast<Four*>(node);
  halves[0] += difference & later[0];
  halves[1] += difference & later[1];
}

// Gives the children [first, last] of one level the sums `sum_of(child)`; the others keep theirs.
template <class SumOf>
void rewrite(std::int64_t* level, std::int64_t first, std::int64_t last, SumOf sum_of) {
  for (std::int64_t begin = first / kFan * kFan; begin <= last; begin += kFan) {
    std::int64_t* node = level + begin;
    std::int64_t old_prefix = 0, prefix = 0;
    for (std::int64_t i = 0; i < kFan; ++i) {
      const std::int64_t child = begin + i;
      const std::int64_t old_sum = node[i] - old_prefix;
      old_prefix = node[i];
      prefix += child >= first && child <= last ? sum_of(child) : old_sum;
      node[i] = prefix;
    }
  }
}

}  // namespace

PriorityTree::PriorityTree(Arena& arena, std::int64_t leaves) : leaves_(leaves) {
  for (std::int64_t nodes = nodes_above(leaves); nodes > 0; nodes = nodes_above(nodes)) {
    levels_[depth_++] = arena.take<std::int64_t>(nodes * kFan).data();
    if (nodes == 1) break;
  }
}

std::size_t PriorityTree::bytes_needed(std::int64_t leaves) {
  std::int64_t total = 0;
  for (std::int64_t nodes = nodes_above(leaves); nodes > 0; nodes = nodes_above(nodes)) {
    total += nodes;
    if (nodes == 1) break;
  }
  return total * kFan * sizeof(std::int64_t);
}

void PriorityTree::set(std::span<const std::int64_t> leaves,
                       std::span<const std::int64_t> priorities) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto child = static_cast<std::uint64_t>(leaves[i]);
    const std::int64_t* lowest = levels_[0] + child / kFan * kFan;
    const std::int64_t old = lowest[child % kFan] - sum_before(lowest, child % kFan);
    const std::int64_t difference = priorities[i] - old;
    for (int level = 0; level < depth_; ++level, child /= kFan)
      add(levels_[level] + child / kFan * kFan, child % kFan, difference);
  }
}

void PriorityTree::fill(std::int64_t first, std::int64_t count, std::int64_t priority) {
  if (count == 0) return;
  std::int64_t last = first + count - 1;
  rewrite(levels_[0], first, last, [&](std::int64_t) { return priority; });
  for (int level = 1; level < depth_; ++level) {
    const std::int64_t* below = levels_[level - 1];
    first /= kFan;
    last /= kFan;
    rewrite(levels_[level], first, last,
            [&](std::int64_t child) { return below[child * kFan + kFan - 1]; });
  }
}

void PriorityTree::draw(std::span<const std::uint64_t> random, std::span<std::int64_t> leaves,
                        std::span<std::int64_t> priorities) const {
  const auto count = static_cast<std::int64_t>(random.size());
  if (count == 0) return;
  assert(total() > 0);
  // While a draw descends, `leaf` holds its node, and `priority` its point within that node plus 1:
  // the vector unit knows "less" but not "less or equal".
  std::int64_t* __restrict leaf = leaves.data();
  std::int64_t* __restrict priority = priorities.data();
  const auto width = static_cast<std::uint64_t>(total() / count);
  const std::int64_t rest = total() % count;
  std::uint64_t low = 0;
  std::int64_t carry = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    carry += rest;
    const bool more = carry >= count;
    carry -= more ? count : 0;
    leaf[i] = 0;
    const auto depth = static_cast<std::uint64_t>(Wide{random[i]} * (width + more) >> 64);
    priority[i] = static_cast<std::int64_t>(low + depth + 1);
    low += width + more;
  }
  for (int level = depth_ - 1; level > 0; --level) {
    const std::int64_t* nodes = levels_[level];
    const std::int64_t* below = levels_[level - 1];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t* node = nodes + leaf[i] * kFan;
      const std::int64_t child = child_of(node, priority[i]);
      priority[i] -= sum_before(node, child);
      leaf[i] = leaf[i] * kFan + child;
      __builtin_prefetch(below + leaf[i] * kFan);
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t* node = levels_[0] + leaf[i] * kFan;
    const std::int64_t child = child_of(node, priority[i]);
    leaf[i] = leaf[i] * kFan + child;
    priority[i] = node[child] - sum_before(node, child);
  }
}

}  // namespace hotloop
