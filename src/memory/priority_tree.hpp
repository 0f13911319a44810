// A sum tree over flat arrays: draws leaves in proportion to their priorities, as prioritised replay
// needs (Schaul et al. 2016), and changes whole batches of them.
//
// A leaf is a float inside a word of somebody else's, who reads that word when its leaf is drawn: one
// cache line then serves both. The priority has the word's lower half, but for the lowest few bits, which
// are lent to the owner, as is the upper half.
//
// Every node is a cache line: a lowest one is eight leaves; one above has, for each of its eight children,
// the sum of the earlier ones, in 64-bit numbers (priority_node.hpp). Only the root is as wide as it must
// be, and searched by stretches. A batch of draws descends level by level, not draw by draw, so that its
// cache misses overlap; of a batch of changes each climbs by itself, and the root waits for all of them.
//
// Priorities are whole numbers of units. Integer sums are exact in any order, so the tree is a pure
// function of its leaves: it does not drift, however often it is changed, and a tree rebuilt from its
// leaves is the same to the bit. A priority of 1.0 is 2^24 units; a float that lends b bits has 24 - b
// significant ones. The sum of all leaves stays within 2^62.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arena.hpp"

namespace hotloop {

class PriorityTree {
 public:
  static constexpr std::int64_t kOne = std::int64_t{1} << 24;  // units in a priority of 1.0

  PriorityTree() = default;  // of no leaves; can do nothing
  // Words are taken from an arena, so that they fill whole cache lines; their priorities are 0. Each
  // priority lends its lowest `lent` bits.
  PriorityTree(Arena& arena, std::span<std::uint64_t> words, int lent);
  static std::size_t bytes_needed(std::int64_t leaves);  // beside the words

  // The largest priority of a leaf, in units: a power of two. A leaf of 0 is never drawn.
  std::int64_t limit() const {
    constexpr auto kAll = std::uint64_t{1} << 62, kLeaf = std::uint64_t{1} << 48;
    return static_cast<std::int64_t>(
        std::min(kLeaf, std::bit_floor(kAll / static_cast<std::uint64_t>(count_))));
  }
  std::int64_t total() const { return total_; }
  float operator[](std::int64_t leaf) const { return priority_in(words_[leaf]); }

  // leaf <- priority for each of a batch: whole numbers up to the limit, whose lent bits are 0. Where a
  // leaf comes twice, the last one counts.
  void set(std::span<const std::int64_t> leaves, std::span<const float> priorities);
  // `count` neighbours at once; costs far less than one by one.
  void fill(std::int64_t first, std::int64_t count, float priority);

  // What else there is to read of a leaf that was drawn: leaf i's lies at first + i * bytes.
  struct Companion {
    const void* first;
    std::int64_t bytes;
  };
  using Companions = std::array<Companion, 2>;

  // B stratified draws, one for each of B random numbers u < 2^64: number k falls into the stratum
  // [total * k / B, total * (k + 1) / B), bounds rounded down, u / 2^64 of the way through it. Gives
  // the leaves, in ascending order, and their priorities, and asks for the lines of a leaf's companions
  // as soon as it is known. The numbers are used up. The total must be positive.
  void draw(std::span<std::uint64_t> random, std::span<std::int64_t> leaves,
            std::span<float> priorities, const Companions& companions) const;

  // All sums anew, after leaves have been changed in their words.
  void rebuild();

 private:
  static constexpr std::int64_t kFan = 8;       // children of a node
  static constexpr std::int64_t kStretch = 16;  // children of the root that are searched at once
  static constexpr std::int64_t kRoot = 256;    // children of the root, at most
  static constexpr int kDeepest = 10;           // levels: more leaves than any memory holds
  static std::int64_t nodes_above(std::int64_t children) { return (children + kFan - 1) / kFan; }
  static std::int64_t width_for(std::int64_t nodes) {
    return (nodes + kStretch - 1) / kStretch * kStretch;
  }

  float priority_in(std::uint64_t word) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word) & bits_);
  }
  // Gives by how much it grew.
  std::int64_t replace(std::uint64_t& word, float priority) const {
    const auto old = static_cast<std::int64_t>(priority_in(word));
    word = (word & ~std::uint64_t{bits_}) | std::bit_cast<std::uint32_t>(priority);
    return static_cast<std::int64_t>(priority) - old;
  }

  // Random numbers become points, and descend from the root to the lowest nodes.
  void descend(std::span<std::uint64_t> random, std::span<std::int64_t> nodes) const;
  // ... from there to the leaves.
  void find_leaves(std::span<const std::uint64_t> bounds, std::span<std::int64_t> leaves,
                   std::span<float> priorities, const Companions& companions) const;
  void climb(int depth, std::uint64_t node, std::int64_t difference);
  template <int kDepth>
  void set_below_root(std::span<const std::int64_t> leaves, std::span<const float> priorities);
  void grow_root();

  std::int64_t count_ = 0;
  std::int64_t total_ = 0;
  int depth_ = 0;                                 // levels between root and leaves, at least one
  std::uint64_t* words_ = nullptr;                // [nodes, kFan]
  std::uint32_t bits_ = 0;                        // of a word, that are its priority's
  std::array<std::int64_t*, kDeepest> levels_{};  // [nodes, kFan] each; 0 is the lowest
  std::int64_t* root_ = nullptr;    // [width], and a line with a sum that no draw passes
  std::int64_t* growth_ = nullptr;  // [width] of the root's children, while leaves change; else 0
  std::int64_t width_ = 0;          // a multiple of kStretch
};

}  // namespace hotloop
