#include "memory/priority_tree.hpp"

#include <cassert>
#include <numeric>

#include "core/cpu/prefetch.hpp"

namespace hotloop {
namespace {

using group_search::kGroup;
constexpr std::int64_t kTop = 64;  // maximum number of entries of the highest level

std::int64_t groups_of(std::int64_t entries) { return (entries + kGroup - 1) / kGroup; }

template <class T>
std::int64_t sum_of(const T* group) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kGroup; ++i) sum += static_cast<std::int64_t>(group[i]);
  return sum;
}

}  // namespace

PriorityTree::PriorityTree(Arena& arena, std::int64_t leaves) {
  assert(leaves > 0);
  leaves_ = arena.take<float>(groups_of(leaves) * kGroup).first(leaves);
  std::int64_t entries = leaves;
  do {
    entries = groups_of(entries);
    sums_.push_back(arena.take<std::int64_t>(groups_of(entries) * kGroup).first(entries));
  } while (entries > kTop);
}

std::size_t PriorityTree::bytes_needed(std::int64_t leaves) {
  std::size_t bytes = groups_of(leaves) * kGroup * sizeof(float);
  std::int64_t entries = leaves;
  do {
    entries = groups_of(entries);
    bytes += groups_of(entries) * kGroup * sizeof(std::int64_t);
  } while (entries > kTop);
  return bytes;
}

std::int64_t PriorityTree::total() const {
  return std::accumulate(sums_.back().begin(), sums_.back().end(), std::int64_t{0});
}

// Recomputes the sums above leaves `first` to `last`, level by level.
void PriorityTree::sum_up(std::int64_t first, std::int64_t last) {
  for (std::size_t level = 0; level < sums_.size(); ++level) {
    first /= kGroup;
    last /= kGroup;
    for (std::int64_t i = first; i <= last; ++i) {
      sums_[level][i] = level == 0 ? sum_of(leaves_.data() + i * kGroup)
                                   : sum_of(sums_[level - 1].data() + i * kGroup);
    }
  }
}

void PriorityTree::rebuild() { sum_up(0, std::ssize(leaves_) - 1); }

void PriorityTree::fill(std::int64_t first, std::int64_t count, float priority) {
  if (count == 0) return;
  std::fill_n(leaves_.begin() + first, count, priority);
  sum_up(first, first + count - 1);
}

void PriorityTree::set(std::span<const std::int64_t> leaves, std::span<const float> priorities) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    auto entry = static_cast<std::uint64_t>(leaves[i]);
    const std::int64_t difference =
        static_cast<std::int64_t>(priorities[i]) - static_cast<std::int64_t>(leaves_[entry]);
    leaves_[entry] = priorities[i];
    for (const std::span<std::int64_t> level : sums_) level[entry /= kGroup] += difference;
  }
}

void PriorityTree::descend(std::span<std::uint64_t> random, std::span<std::int64_t> groups) const {
  __extension__ using Wide = unsigned __int128;
  const std::int64_t count = std::ssize(random), all = total();
  if (count == 0) return;
  assert(all > 0);
  // On the highest level each draw continues where the previous one stopped. The stratum of draw k
  // starts at `low`, total * k / B; `rest` is the remainder of that division.
  const std::int64_t quotient = all / count, remainder = all % count;
  const std::span<const std::int64_t> top = sums_.back();
  std::int64_t low = 0, rest = 0, entry = 0, start = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    rest += remainder;
    const bool carry = rest >= count;
    rest -= carry ? count : 0;
    const std::int64_t width = quotient + carry;
    const Wide scaled = Wide{random[i]} * static_cast<std::uint64_t>(width);
    const std::int64_t point = low + static_cast<std::int64_t>(scaled >> 64);
    low += width;
    for (; point - start >= top[entry]; ++entry) start += top[entry];
    random[i] = static_cast<std::uint64_t>(point - start);
    groups[i] = entry;
  }
  // Level by level: the groups of the next level are prefetched while this one is searched.
  std::uint64_t* __restrict const points = random.data();
  std::int64_t* __restrict const at = groups.data();
  for (std::size_t level = sums_.size() - 1; level > 0; --level) {
    const std::int64_t* const sums = sums_[level - 1].data();
    const std::int64_t* const below = level > 1 ? sums_[level - 2].data() : nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      auto point = static_cast<std::int64_t>(points[i]);
      at[i] = at[i] * kGroup + group_search::find(sums + at[i] * kGroup, point);
      points[i] = static_cast<std::uint64_t>(point);
      const std::int64_t next = at[i] * kGroup;
      below != nullptr ? prefetch_l2(below + next) : prefetch_l2(leaves_.data() + next);
    }
  }
}

}  // namespace hotloop
