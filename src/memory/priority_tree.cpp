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
    nodes = nodes_above(nodes, fan(depth_));
    levels_[depth_] = arena.take<std::int64_t>(nodes * fan(depth_)).data();
    ++depth_;
  } while (nodes > kRoot);
  width_ = width_for(nodes);
  root_ = arena.take<std::int64_t>(width_).data();
}

std::size_t PriorityTree::bytes_needed(std::int64_t leaves) {
  std::int64_t nodes = nodes_above(leaves, kLeaves);
  std::size_t bytes = nodes * kLeaves * sizeof(float);
  int level = 0;
  do {
    nodes = nodes_above(nodes, fan(level));
    bytes += nodes * fan(level) * sizeof(std::int64_t);
    ++level;
  } while (nodes > kRoot);
  return bytes + width_for(nodes) * sizeof(std::int64_t);
}

inline std::int64_t PriorityTree::climb(std::int64_t node, std::int64_t difference) {
  auto child = static_cast<std::uint64_t>(node);
  priority_node::add<kLowest>(levels_[0] + child / kLowest * kLowest, child % kLowest, difference);
  child /= kLowest;
  for (int level = 1; level < depth_; ++level, child /= kFan)
    priority_node::add<kFan>(levels_[level] + child / kFan * kFan, child % kFan, difference);
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

// First the leaves, then the nodes above: the misses of the former overlap.
void PriorityTree::set(std::span<const std::int64_t> leaves, std::span<const float> priorities) {
  std::array<std::int64_t, kRoot> differences{};
  std::array<std::int64_t, 64> changes;
  for (std::size_t first = 0; first < leaves.size(); first += changes.size()) {
    const std::size_t count = std::min(changes.size(), leaves.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      float& leaf = leaves_[priority_node::position(leaves[first + i])];
      const auto old = static_cast<std::int64_t>(leaf);
      leaf = priorities[first + i];
      changes[i] = static_cast<std::int64_t>(leaf) - old;
    }
    for (std::size_t i = 0; i < count; ++i)
      differences[climb(leaves[first + i] / kLeaves, changes[i])] += changes[i];
  }
  grow_root(differences);
}

void PriorityTree::fill(std::int64_t first, std::int64_t count, float priority) {
  std::array<std::int64_t, kRoot> differences{};
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
    node[i] = 0;
    low += width + more;
  }
  const auto descend_to = [&]<int kChildren>(int level, const std::int64_t* above) {
    const std::int64_t* nodes_there = levels_[level];
    for (std::int64_t i = 0; i < count; ++i) {
      step<kChildren>(above, bound[i], node[i]);
      const std::int64_t* next = nodes_there + node[i] * fan(level);
      __builtin_prefetch(next);
      if (level > 0) __builtin_prefetch(next + kCacheLine / sizeof(*next));
    }
  };
  int level = depth_ - 1;
  width_ == 16   ? descend_to.operator()<16>(level, root_)
  : width_ == 32 ? descend_to.operator()<32>(level, root_)
                 : descend_to.operator()<64>(level, root_);
  for (; level > 0; --level) descend_to.operator()<kFan>(level - 1, levels_[level]);
}

}  // namespace hotloop
