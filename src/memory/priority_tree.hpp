// A sum tree over a flat array: draws leaves in proportion to their priorities, as prioritised
// replay needs (Schaul et al. 2016), and changes whole batches of them.
//
// Eight children make a node, and a node is one cache line: the inclusive prefix sums of its
// children. The child that a point falls into is the number of prefixes not above the point, eight
// comparisons without a branch; a child's own sum is the difference of neighbours. A batch of draws
// descends level by level, not draw by draw, so that its cache misses overlap. A batch of changes
// climbs leaf by leaf: what was drawn is in the cache, and near the root, where neighbours of the
// batch share nodes, each level's chain of additions runs beside the others'.
//
// Priorities are fixed-point numbers. Integer sums are exact in any order, so the tree is a pure
// function of its leaves: it does not drift, however often it is changed, and a tree rebuilt from
// its leaves is the same to the bit. The sum of all leaves stays within 2^62.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/arena.hpp"

namespace hotloop {

class PriorityTree {
 public:
  static constexpr std::int64_t kFan = 8;
  static constexpr std::int64_t kOne = std::int64_t{1} << 24;  // units in a priority of 1.0

  // All leaves are 0. A tree of no leaves takes no memory and can do nothing.
  PriorityTree(Arena& arena, std::int64_t leaves);
  static std::size_t bytes_needed(std::int64_t leaves);

  // The largest priority of a leaf, in units. A leaf of 0 is never drawn.
  std::int64_t limit() const { return (std::int64_t{1} << 62) / leaves_; }
  std::int64_t total() const { return levels_[depth_ - 1][kFan - 1]; }
  std::int64_t operator[](std::int64_t leaf) const {
    const std::int64_t* prefix = levels_[0] + leaf;
    return leaf % kFan == 0 ? prefix[0] : prefix[0] - prefix[-1];
  }

  // leaf <- priority for each of a batch; where a leaf comes twice, the last one counts.
  void set(std::span<const std::int64_t> leaves, std::span<const std::int64_t> priorities);
  // `count` neighbours at once; costs far less than one by one.
  void fill(std::int64_t first, std::int64_t count, std::int64_t priority);

  // B stratified draws, one for each of B random numbers u < 2^64: number k falls into the stratum
  // [total * k / B, total * (k + 1) / B), bounds rounded down, u / 2^64 of the way through it. Gives
  // the leaves, in ascending order, and their priorities. The total must be positive.
  void draw(std::span<const std::uint64_t> random, std::span<std::int64_t> leaves,
            std::span<std::int64_t> priorities) const;

  // For checkpoints: the levels by name, as far as the first `leaves` leaves reach.
  template <class Visitor>
  void visit(std::int64_t leaves, Visitor&& v) {
    for (int level = 0; level < depth_; ++level) {
      leaves = (leaves + kFan - 1) / kFan;
      v("priorities." + std::to_string(level),
        std::span(levels_[level], static_cast<std::size_t>(leaves * kFan)));
    }
  }

 private:
  std::int64_t leaves_;
  int depth_ = 0;
  std::array<std::int64_t*, 21> levels_{};  // [ceil(leaves / 8^(level + 1)), 8] each; 0 is lowest
};

}  // namespace hotloop
