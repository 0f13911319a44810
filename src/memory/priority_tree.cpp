#include "memory/priority_tree.hpp"

#include <cassert>
#include <limits>
#include <utility>

#include "core/prefetch.hpp"
#include "memory/priority_node.hpp"

namespace hotloop {
namespace {

__extension__ using Wide = unsigned __int128;

// Where a draw is: at point `bound - 1` of a node.
struct Point {
  std::int64_t bound;
  std::int64_t node;
};

// The draws' bounds and nodes, side by side.
struct Points {
  std::uint64_t* __restrict bounds;
  std::int64_t* __restrict nodes;

  Point at(std::int64_t i) const { return {static_cast<std::int64_t>(bounds[i]), nodes[i]}; }
  void put(std::int64_t i, Point p) const {
    bounds[i] = static_cast<std::uint64_t>(p.bound);
    nodes[i] = p.node;
  }
};

}  // namespace

PriorityTree::PriorityTree(Arena& arena, std::span<std::uint64_t> words, int lent)
    : count_(std::ssize(words)), words_(words.data()), bits_(~std::uint32_t{0} << lent) {
  assert(count_ > 0 && lent >= 0 && lent < 24);
  std::int64_t nodes = nodes_above(count_);
  do {
    nodes = nodes_above(nodes);
    levels_[depth_] = arena.take<std::int64_t>(nodes * kFan).data();
    ++depth_;
  } while (nodes > kRoot);
  width_ = width_for(nodes);
  assert(depth_ <= kDeepest);
  root_ = arena.take<std::int64_t>(width_ + kFan).data();
  root_[width_] = std::numeric_limits<std::int64_t>::max();
  growth_ = arena.take<std::int64_t>(width_).data();
}

std::size_t PriorityTree::bytes_needed(std::int64_t leaves) {
  std::int64_t nodes = nodes_above(leaves);
  std::size_t bytes = 0;
  do {
    nodes = nodes_above(nodes);
    bytes += nodes * kFan * sizeof(std::int64_t);
  } while (nodes > kRoot);
  return bytes + (2 * width_for(nodes) + kFan) * sizeof(std::int64_t);
}

// A change of a lowest node's sum, on its way up.
inline void PriorityTree::climb(int depth, std::uint64_t node, std::int64_t difference) {
  for (int level = 0; level < depth; ++level, node /= kFan)
    priority_node::add(levels_[level] + node / kFan * kFan, node % kFan, difference);
  growth_[node] += difference;
}

void PriorityTree::grow_root() {
  total_ += priority_node::grow(root_, growth_, width_);
  std::fill_n(growth_, width_, 0);
}

// The compiler knows the number of levels, and unrolls the way up.
template <int kDepth>
void PriorityTree::set_below_root(std::span<const std::int64_t> leaves,
                                  std::span<const float> priorities) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto leaf = static_cast<std::uint64_t>(leaves[i]);
    climb(kDepth, leaf / kFan, replace(words_[leaf], priorities[i]));
  }
}

void PriorityTree::set(std::span<const std::int64_t> leaves, std::span<const float> priorities) {
  const auto set_below = [&]<int... kAbove>(std::integer_sequence<int, kAbove...>) {
    ((depth_ == 1 + kAbove ? set_below_root<1 + kAbove>(leaves, priorities) : void()), ...);
  };
  set_below(std::make_integer_sequence<int, kDeepest>());
  grow_root();
}

void PriorityTree::fill(std::int64_t first, std::int64_t count, float priority) {
  const std::int64_t end = first + count;
  while (first < end) {
    const std::int64_t node = first / kFan, node_end = std::min(end, (node + 1) * kFan);
    std::int64_t difference = 0;
    for (; first < node_end; ++first) difference += replace(words_[first], priority);
    if (difference != 0) climb(depth_, node, difference);
  }
  grow_root();
}

void PriorityTree::rebuild() {
  const std::int64_t lowest = nodes_above(count_);
  std::int64_t nodes = lowest;
  for (int level = 0; level < depth_; ++level) {
    nodes = nodes_above(nodes);
    std::fill_n(levels_[level], nodes * kFan, 0);
  }
  std::fill_n(root_, width_, 0);
  total_ = 0;
  for (std::int64_t node = 0; node < lowest; ++node) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < kFan; ++i)
      sum += static_cast<std::int64_t>(priority_in(words_[node * kFan + i]));
    climb(depth_, node, sum);
  }
  grow_root();
}

void PriorityTree::descend(std::span<std::uint64_t> random, std::span<std::int64_t> nodes) const {
  const auto count = static_cast<std::int64_t>(random.size());
  if (count == 0) return;
  assert(total_ > 0);
  const Points points{random.data(), nodes.data()};
  // Strata are as wide as total / count, rounded down, or wider by 1: by what the remainders add up to.
  const std::int64_t wider = total_ / count + 1, rest = total_ % count;
  std::int64_t low = 1, carry = 0;
  // Draws ascend: the stretch of the root that holds one is that of the draw before it, or a later one.
  const std::int64_t* const root = root_;
  const std::int64_t* const top = levels_[depth_ - 1];
  std::int64_t stretch = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    carry += rest - count;
    const std::int64_t narrow = carry >> 63;  // all bits, or none
    carry += count & narrow;
    const std::int64_t width = wider + narrow;
    const Wide within = Wide{points.bounds[i]} * static_cast<std::uint64_t>(width) >> 64;
    const std::int64_t bound = low + static_cast<std::int64_t>(within);
    low += width;
    while (root[stretch + kStretch] < bound) stretch += kStretch;
    const std::uint64_t below = priority_node::count_below<kStretch>(root + stretch, bound);
    const std::int64_t node = stretch - 1 + static_cast<std::int64_t>(below);
    points.put(i, {bound - root[node], node});
    ask_for_line_early(top + node * kFan);
  }
  for (int level = depth_ - 1; level >= 0; --level) {
    const std::int64_t* const level_sums = levels_[level];
    const auto* const below_it = level > 0 ? reinterpret_cast<const std::byte*>(levels_[level - 1])
                                           : reinterpret_cast<const std::byte*>(words_);
    for (std::int64_t i = 0; i < count; ++i) {
      const Point from = points.at(i);
      const std::int64_t* sums = level_sums + from.node * kFan;
      const std::uint64_t below = priority_node::count_below<kFan>(sums, from.bound);
      const Point to{from.bound - (sums - 1)[below],
                     from.node * kFan - 1 + static_cast<std::int64_t>(below)};
      points.put(i, to);
      ask_for_line_early(below_it + to.node * std::int64_t{kCacheLine});
    }
  }
}

void PriorityTree::find_leaves(std::span<const std::uint64_t> bounds,
                               std::span<std::int64_t> leaves, std::span<float> priorities,
                               const Companions& companions) const {
  const std::uint64_t* __restrict bound = bounds.data();
  std::int64_t* __restrict found = leaves.data();
  float* __restrict priority = priorities.data();
  const auto count = static_cast<std::int64_t>(bounds.size());
  const auto ask = [](const Companion& companion, std::int64_t leaf) {
    ask_for_line_early(static_cast<const std::byte*>(companion.first) + leaf * companion.bytes);
  };
  const auto [one, two] = companions;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t* node = words_ + found[i] * kFan;
    const std::uint64_t child =
        priority_node::leaf_of(node, bits_, static_cast<std::int64_t>(bound[i]));
    const std::int64_t leaf = found[i] * kFan + static_cast<std::int64_t>(child);
    found[i] = leaf;
    ask(one, leaf);
    ask(two, leaf);
    priority[i] = priority_in(node[child]);
  }
}

void PriorityTree::draw(std::span<std::uint64_t> random, std::span<std::int64_t> leaves,
                        std::span<float> priorities, const Companions& companions) const {
  descend(random, leaves);
  find_leaves(random, leaves, priorities, companions);
}

}  // namespace hotloop
