// A sum tree over flat arrays: draws leaves in proportion to their priorities, as prioritised
// replay needs (Schaul et al. 2016), and updates priorities in batches.
//
// Level 0 holds the sum of every eight leaves, level k + 1 the sum of every eight entries of level
// k, up to a level of at most 64 entries. Changing a leaf adds the difference to one entry per
// level. A draw is a point on the line of all priorities laid end to end; on each level it descends
// into the entry that contains it. Draws are in ascending order, so on the highest level each
// continues where the previous one stopped. A batch descends level by level, not draw by draw, so
// that its cache misses overlap.
//
// Priorities are integers, in units: a priority of 1.0 is 2^24 units. Integer sums are exact in any
// order, so the tree is a pure function of its leaves: it does not drift, however often it is
// changed, and a tree rebuilt from its leaves is the same to the bit. Leaves are floats, which hold
// integers to 24 significant bits; sums have 64 bits and stay within 2^62.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "memory/group_search.hpp"

namespace hotloop {

class PriorityTree {
 public:
  static constexpr std::int64_t kOne = std::int64_t{1} << 24;  // units in a priority of 1.0

  PriorityTree() = default;  // no leaves
  PriorityTree(Arena& arena, std::int64_t leaves);
  static std::size_t bytes_needed(std::int64_t leaves);

  // The largest priority of a leaf, in units: a power of two. A leaf of 0 is never drawn.
  std::int64_t limit() const {
    constexpr auto kAll = std::uint64_t{1} << 62, kLeaf = std::uint64_t{1} << 48;
    return static_cast<std::int64_t>(std::min(kLeaf, std::bit_floor(kAll / leaves_.size())));
  }
  std::int64_t total() const;
  float operator[](std::int64_t leaf) const { return leaves_[leaf]; }

  // Sets the priorities of a batch of leaves: integers from 0 to the limit. If a leaf occurs twice,
  // its last priority counts.
  void set(std::span<const std::int64_t> leaves, std::span<const float> priorities);
  // Sets `count` consecutive leaves; far cheaper than one by one.
  void fill(std::int64_t first, std::int64_t count, float priority);

  // B stratified draws, one for each of B random numbers u < 2^64: draw k falls into the stratum
  // [total * k / B, total * (k + 1) / B), bounds rounded down, u / 2^64 of the way through it.
  // Writes the leaves, in ascending order, and their priorities; overwrites the random numbers.
  // Calls found(leaf) as soon as a leaf is known, so that the caller can prefetch its data. The
  // total must be positive.
  template <class Found>
  void draw(std::span<std::uint64_t> random, std::span<std::int64_t> leaves,
            std::span<float> priorities, Found&& found) const {
    descend(random, leaves);
    for (std::size_t i = 0; i < random.size(); ++i) {
      const std::int64_t first = leaves[i] * group_search::kGroup;
      const auto point = static_cast<std::int64_t>(random[i]);
      leaves[i] = first + group_search::find(leaves_.data() + first, point);
      priorities[i] = leaves_[leaves[i]];
      found(leaves[i]);
    }
  }

  // For checkpoints: the leaves, to read or to write; `rebuild` then computes all sums.
  std::span<float> leaves() { return leaves_; }
  void rebuild();

 private:
  void sum_up(std::int64_t first, std::int64_t last);
  // Finds the group of leaves of each draw; each random number becomes a point within its group.
  void descend(std::span<std::uint64_t> random, std::span<std::int64_t> groups) const;

  // Padded with zeros to whole groups.
  std::span<float> leaves_;                    // [leaves]
  std::vector<std::span<std::int64_t>> sums_;  // [level][entries]
};

}  // namespace hotloop
