// A sum tree over flat arrays: draws leaves in proportion to their priorities, as prioritised replay
// needs (Schaul et al. 2016), and changes whole batches of them.
//
// Every node is a cache line: a lowest one holds sixteen leaves, in floats; one above, for each of its
// eight children, the sum of the earlier ones, in 64-bit numbers (priority_node.hpp). Only the root is
// as wide as it must be, and searched by stretches. A batch of draws descends level by level, not draw
// by draw, so that its cache misses overlap; a batch of changes climbs in the same way, and the root
// waits for all of them.
//
// Priorities are whole numbers of units. Integer sums are exact in any order, so the tree is a pure
// function of its leaves: it does not drift, however often it is changed, and a tree rebuilt from
// its leaves is the same to the bit. Floats hold every whole number up to 2^24, which is a priority
// of 1.0, and above that seven digits. The sum of all leaves stays within 2^62.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arena.hpp"
#include "core/prefetch.hpp"
#include "memory/priority_node.hpp"

namespace hotloop {

class PriorityTree {
 public:
  static constexpr std::int64_t kOne = std::int64_t{1} << 24;  // units in a priority of 1.0

  // All leaves are 0. A tree of no leaves takes no memory and can do nothing.
  PriorityTree(Arena& arena, std::int64_t leaves);
  static std::size_t bytes_needed(std::int64_t leaves);

  // The largest priority of a leaf, in units: a power of two. A leaf of 0 is never drawn.
  std::int64_t limit() const {
    constexpr auto kAll = std::uint64_t{1} << 62, kLeaf = std::uint64_t{1} << 48;
    return static_cast<std::int64_t>(
        std::min(kLeaf, std::bit_floor(kAll / static_cast<std::uint64_t>(count_))));
  }
  std::int64_t total() const { return total_; }
  float operator[](std::int64_t leaf) const { return leaves_[priority_node::position(leaf)]; }

  // leaf <- priority for each of a batch, whole numbers up to the limit; where a leaf comes twice, the
  // last one counts.
  void set(std::span<const std::int64_t> leaves, std::span<const float> priorities);
  // `count` neighbours at once; costs far less than one by one.
  void fill(std::int64_t first, std::int64_t count, float priority);

  // B stratified draws, one for each of B random numbers u < 2^64: number k falls into the stratum
  // [total * k / B, total * (k + 1) / B), bounds rounded down, u / 2^64 of the way through it. Gives
  // the leaves, in ascending order, and their priorities, and calls found(leaf) for each as soon as it
  // is known. The numbers are used up. The total must be positive, and no leaf above `largest`, which
  // decides how leaves may be searched, not what is found.
  template <class Found>
  void draw(std::span<std::uint64_t> random, std::span<std::int64_t> leaves,
            std::span<float> priorities, float largest, Found&& found) const {
    descend(random, leaves);
    largest < priority_node::kNarrow
        ? find_leaves<priority_node::narrow_leaf_of>(random, leaves, priorities, found)
        : find_leaves<priority_node::leaf_of>(random, leaves, priorities, found);
  }

  // For checkpoints: the nodes of the first `count` leaves, as they lie in memory. After changing them,
  // rebuild: all sums follow from the leaves.
  std::span<float> leaves(std::int64_t count) {
    return {leaves_, static_cast<std::size_t>(nodes_above(count, kLeaves) * kLeaves)};
  }
  void rebuild();

 private:
  static constexpr std::int64_t kLeaves = 16;   // in a lowest node
  static constexpr std::int64_t kFan = 8;       // children of a node above
  static constexpr std::int64_t kStretch = 16;  // children of the root that are searched at once
  static constexpr std::int64_t kRoot = 256;    // children of the root, at most
  // Draws that have left level 0 before the first of them looks at its leaves: the misses of the two
  // and those that `found` asks for overlap.
  static constexpr std::size_t kLag = 6;
  static constexpr std::int64_t nodes_above(std::int64_t count, std::int64_t fan) {
    return (count + fan - 1) / fan;
  }
  static std::int64_t width_for(std::int64_t nodes) {
    return nodes_above(nodes, kStretch) * kStretch;
  }

  // One level down for one draw: `bound` is its point within the node, plus 1.
  template <int kChildren>
  static void step(const std::int64_t* level, std::uint64_t& bound, std::int64_t& node) {
    const std::int64_t* sums = level + node * kChildren;
    const std::int64_t child =
        priority_node::child_of<kChildren>(sums, static_cast<std::int64_t>(bound));
    bound -= static_cast<std::uint64_t>(sums[child]);
    node = node * kChildren + child;
  }
  // Random numbers become bounds, and descend from the root to the nodes of level 0.
  void descend(std::span<std::uint64_t> random, std::span<std::int64_t> nodes) const;
  // ... from there to the leaves.
  template <auto kLeafOf, class Found>
  void find_leaves(std::span<std::uint64_t> bounds, std::span<std::int64_t> leaves,
                   std::span<float> priorities, Found&& found) const {
    const auto ask_for_leaves = [&](std::size_t i) { ask_for_line(leaves_ + leaves[i] * kLeaves); };
    const auto find = [&](std::size_t i) {
      const float* node = leaves_ + leaves[i] * kLeaves;
      const std::int64_t child = kLeafOf(node, static_cast<std::int64_t>(bounds[i]));
      leaves[i] = leaves[i] * kLeaves + child;
      priorities[i] = node[priority_node::position(child)];
    };
    const std::size_t lead = std::min(kLag, bounds.size());
    for (std::size_t i = 0; i < lead; ++i) {
      step<kFan>(levels_[0], bounds[i], leaves[i]);
      ask_for_leaves(i);
    }
    // A request for a line cannot retire before its page is found: those that stand together wait
    // together.
    std::size_t i = 0;
    for (; i + lead < bounds.size(); ++i) {
      step<kFan>(levels_[0], bounds[i + lead], leaves[i + lead]);
      find(i);
      ask_for_leaves(i + lead);
      found(leaves[i]);
    }
    for (; i < bounds.size(); ++i) {
      find(i);
      found(leaves[i]);
    }
  }
  // The sum of a lowest node has changed; gives the child of the root that has changed with it.
  std::int64_t climb(std::int64_t node, std::int64_t difference);
  void grow_root(std::span<const std::int64_t> differences);  // [kRoot]

  std::int64_t count_;
  std::int64_t total_ = 0;
  int depth_ = 0;                           // levels between root and leaves, at least one
  float* leaves_ = nullptr;                 // [nodes, 4, 4]
  std::array<std::int64_t*, 16> levels_{};  // [nodes, kFan] each; 0 is the lowest
  std::int64_t* root_ = nullptr;            // [width]
  std::int64_t width_ = 0;                  // a multiple of kStretch
};

}  // namespace hotloop
