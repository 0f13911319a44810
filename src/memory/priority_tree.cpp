#include "memory/priority_tree.hpp"

#include <cassert>

namespace hotloop {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

PriorityTree::PriorityTree(Arena& arena, std::int64_t leaves) : count_(leaves) {
  std::int64_t nodes = nodes_above(leaves, kLeaves);
  leaves_ = arena.take<float>(nodes * kLeaves).data();
  do {
    nodes = nodes_above(nodes, kFan);
    levels_[depth_] = arena.take<std::int64_t>(nodes * kFan).data();
    ++depth_;
  } while (nodes > kRoot);
  width_ = width_for(nodes);
  root_ = arena.take<std::int64_t>(width_).data();
}

std::size_t PriorityTree::bytes_needed(std::int64_t leaves) {
  std::int64_t nodes = nodes_above(leaves, kLeaves);
  std::size_t bytes = nodes * kLeaves * sizeof(float);
  do {
    nodes = nodes_above(nodes, kFan);
    bytes += nodes * kFan * sizeof(std::int64_t);
  } while (nodes > kRoot);
  return bytes + width_for(nodes) * sizeof(std::int64_t);
}

inline std::int64_t PriorityTree::climb(std::int64_t node, std::int64_t difference) {
  auto child = static_cast<std::uint64_t>(node);
  for (int level = 0; level < depth_; ++level, child /= kFan)
    priority_node::add(levels_[level] + child / kFan * kFan, child % kFan, difference);
  return static_cast<std::int64_t>(child);
}

inline void PriorityTree::grow_root(std::span<const std::int64_t> differences) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < width_; ++i) {
    root_[i] += sum;
    sum += differences[i];
  }
  total_ += sum;
}

void PriorityTree::set(std::span<const std::int64_t> leaves, std::span<const float> priorities) {
  std::array<std::int64_t, kRoot> differences;
  std::fill_n(differences.begin(), width_, 0);
  std::array<std::int64_t, 64> changes;
  std::array<std::uint64_t, 64> children;  // of the nodes of a level
  for (std::size_t first = 0; first < leaves.size(); first += changes.size()) {
    const std::size_t count = std::min(changes.size(), leaves.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      float& leaf = leaves_[priority_node::position(leaves[first + i])];
      const auto old = static_cast<std::int64_t>(leaf);
      leaf = priorities[first + i];
      changes[i] = static_cast<std::int64_t>(leaf) - old;
      children[i] = static_cast<std::uint64_t>(leaves[first + i]) / kLeaves;
    }
    for (int level = 0; level < depth_; ++level) {
      std::int64_t* sums = levels_[level];
      for (std::size_t i = 0; i < count; ++i) {
        priority_node::add(sums + children[i] / kFan * kFan, children[i] % kFan, changes[i]);
        children[i] /= kFan;
      }
    }
    for (std::size_t i = 0; i < count; ++i) differences[children[i]] += changes[i];
  }
  grow_root(differences);
}

void PriorityTree::fill(std::int64_t first, std::int64_t count, float priority) {
  std::array<std::int64_t, kRoot> differences;
  std::fill_n(differences.begin(), width_, 0);
  const std::int64_t end = first + count;
  while (first < end) {
    const std::int64_t node = first / kLeaves, node_end = std::min(end, (node + 1) * kLeaves);
    std::int64_t difference = static_cast<std::int64_t>(priority) * (node_end - first);
    for (; first < node_end; ++first) {
      float& leaf = leaves_[priority_node::position(first)];
      difference -= static_cast<std::int64_t>(leaf);
      leaf = priority;
    }
    if (difference != 0) differences[climb(node, difference)] += difference;
  }
  grow_root(differences);
}

void PriorityTree::rebuild() {
  const std::int64_t lowest = nodes_above(count_, kLeaves);
  std::int64_t nodes = lowest;
  for (int level = 0; level < depth_; ++level) {
    nodes = nodes_above(nodes, kFan);
    std::fill_n(levels_[level], nodes * kFan, 0);
  }
  std::fill_n(root_, width_, 0);
  total_ = 0;
  std::array<std::int64_t, kRoot> sums{};
  for (std::int64_t node = 0; node < lowest; ++node) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < kLeaves; ++i)
      sum += static_cast<std::int64_t>(leaves_[node * kLeaves + i]);
    sums[climb(node, sum)] += sum;
  }
  grow_root(sums);
}

void PriorityTree::descend(std::span<std::uint64_t> random, std::span<std::int64_t> nodes) const {
  const auto count = static_cast<std::int64_t>(random.size());
  if (count == 0) return;
  assert(total_ > 0);
  const auto width = static_cast<std::uint64_t>(total_ / count);
  const std::int64_t rest = total_ % count;
  std::uint64_t low = 1;
  std::int64_t carry = 0;
  std::uint64_t* __restrict bound = random.data();
  std::int64_t* __restrict node = nodes.data();
  for (std::int64_t i = 0; i < count; ++i) {
    carry += rest;
    const bool more = carry >= count;
    carry -= more ? count : 0;
    bound[i] = low + static_cast<std::uint64_t>(Wide{bound[i]} * (width + more) >> 64);
    low += width + more;
  }
  const auto ask_for = [&](int level, std::int64_t i) {
    ask_for_line(levels_[level] + node[i] * kFan);
  };
  // Draws ascend: the stretch of the root that holds one is that of the draw before it, or a later one.
  const std::int64_t last = width_ / kStretch - 1;
  std::int64_t stretch = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto here = static_cast<std::int64_t>(bound[i]);
    while (stretch < last && root_[(stretch + 1) * kStretch] < here) ++stretch;
    node[i] = stretch;
    step<kStretch>(root_, bound[i], node[i]);
    ask_for(depth_ - 1, i);
  }
  for (int level = depth_ - 1; level > 0; --level) {
    for (std::int64_t i = 0; i < count; ++i) {
      step<kFan>(levels_[level], bound[i], node[i]);
      ask_for(level - 1, i);
    }
  }
}

}  // namespace hotloop
